"""Several servers with one journal in PostgreSQL, over HTTP and on the command line."""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest

from tests.server.http.running import ROOT, Running
from tests.server.streams import base
from tests.store.conftest import cluster, database  # noqa: F401  fixtures

pytest.importorskip("psycopg")
PASSWORD = "a-secret-word"  # noqa: S105


class Machines:
    """Servers with their own directories."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder
        base().save(folder / "model")

    def start(self, name, *arguments, url=None, model=True):
        options = ["--state", self.folder / name, "--journal", url or self.url]
        if model:
            return Running(self.folder / "model", *options, *arguments)
        return Running(options[0], *options[1:], *arguments)


@pytest.fixture
def machines(database, tmp_path):  # noqa: F811
    return Machines(database.url, tmp_path)


def abound(*arguments):
    command = [sys.executable, "-m", "abound", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def learn(server, text, label):
    answer = httpx.post(f"{server.url}/v1/learn", json={"text": text, "added": [label]})
    assert answer.status_code == 200, answer.text
    return answer


def first_label(server, text, sequence):
    headers = {"X-Abound-Sequence": str(sequence)}
    answer = httpx.post(f"{server.url}/v1/rank", json={"text": text}, headers=headers, timeout=20)
    assert answer.status_code == 200, answer.text
    assert int(answer.headers["x-abound-sequence"]) >= sequence
    return answer.json()["labels"][0]["label"]


def test_a_correction_at_one_server_is_seen_at_all_others(machines):
    with machines.start("a") as a, machines.start("b", "--workers", 2) as b:
        token = {httpx.get(f"{server.url}/v1/model").headers["x-abound-journal"] for server in (a, b)}
        assert len(token) == 1
        for number in range(20):
            one, other = (a, b) if number % 2 else (b, a)
            sequence = learn(one, f"boat number{number}", f"ship{number}").json()["sequence"]
            assert first_label(other, f"number{number}", sequence) == f"ship{number}"
        started = time.monotonic()
        answer = httpx.post(
            f"{a.url}/v1/rank", json={"text": "boat"}, headers={"X-Abound-Sequence": "1000"}, timeout=20
        )
        assert answer.status_code == 412
        assert time.monotonic() - started < 15
        # Not more than 100 requests wait. One client sends all of them, so that they arrive at the same time.
        limits = httpx.Limits(max_connections=130)
        with httpx.Client(limits=limits, timeout=30) as client, ThreadPoolExecutor(130) as pool:
            later = {"X-Abound-Sequence": "1000"}
            ask = partial(client.post, f"{a.url}/v1/rank", json={"text": "boat"}, headers=later)
            answers = [pool.submit(ask) for _ in range(130)]
            statuses = Counter(answer.result().status_code for answer in answers)
        assert statuses[412] <= 100
        assert statuses[503] == 130 - statuses[412] > 0
        arguments = "\n".join(_command_lines(b))
        assert "abound.server.http.worker" in arguments
        metrics = httpx.get(f"{a.url}/metrics").text
        states = [
            re.search("^abound_snapshot_state.*", httpx.get(f"{one.url}/metrics").text, re.M)[0] for one in (a, b)
        ]
        assert states[0] == states[1]
        assert "abound_journal_learns 1.0" in metrics
        assert (a.stop(), b.stop()) == (0, 0)


def _command_lines(server):
    for pid in server.workers():
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            yield file.read()


def test_a_password_is_in_no_command_line_of_a_worker_and_in_no_message(machines):
    user, host = machines.url.removeprefix("postgresql://").split("@")
    url = f"postgresql://{user}:{PASSWORD}@{host}"
    environment = {"ABOUND_SERVE_JOURNAL": url}
    options = ["--state", machines.folder / "a", "--workers", 2]
    with Running(machines.folder / "model", *options, env=environment) as server:
        learn(server, "boats", "ship")
        assert PASSWORD not in "".join(_command_lines(server))
        assert server.stop() == 0
        assert PASSWORD not in "".join(server.said)
    files = [path.read_bytes() for path in (machines.folder / "a").rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in content for content in files)


def test_without_the_database_a_server_says_that_it_only_ranks(machines, cluster):  # noqa: F811
    with machines.start("a") as server:
        learn(server, "boats", "ship")
        cluster.stop("immediate")
        try:
            answer = httpx.post(f"{server.url}/v1/learn", json={"text": "boats", "added": ["ship"]}, timeout=20)
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert first_label(server, "boats", 1) == "ship"
            ends = time.monotonic() + 20
            while "ranks only" not in httpx.get(f"{server.url}/readyz").text:
                assert time.monotonic() < ends
                time.sleep(0.2)
            later = {"X-Abound-Sequence": "2"}  # another machine may have acknowledged it
            answer = httpx.post(f"{server.url}/v1/rank", json={"text": "boats"}, headers=later, timeout=20)
            assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
            assert "abound_journal_learns 0.0" in httpx.get(f"{server.url}/metrics").text
        finally:
            cluster.start()
        ends = time.monotonic() + 20
        while "ranks only" in httpx.get(f"{server.url}/readyz").text:
            assert time.monotonic() < ends
            time.sleep(0.2)
        assert learn(server, "boats again", "ship").json()["sequence"] == 2


def test_verify_compares_servers_and_skip_reaches_them(machines, database, cluster, tmp_path):  # noqa: F811
    with machines.start("a") as a, machines.start("b") as b:
        for number in range(5):
            learn((a, b)[number % 2], f"boat number{number}", f"ship{number}")
        both = ["--servers", a.url, "--servers", b.url]
        code, out, err = abound("journal", "verify", machines.url, *both, "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert (found["last"], found["records"], found["damage"]) == (5, 5, [])
        assert len(found["servers"]) == 2
        code, out, err = abound(
            "journal", "verify", machines.url, "--servers", a.url, "--servers", "http://127.0.0.1:9"
        )
        assert code == 1
        assert "http://127.0.0.1:9: " in err
        other = type(database)(cluster, tmp_path)
        with machines.start("c", url=other.url) as c:
            for number in range(5):
                learn(c, f"another boat number{number}", f"ship{number}")
            code, out, err = abound("journal", "verify", machines.url, *both, "--servers", c.url)
            assert code == 1
            assert "the servers have different states at record 5" in err
        with_password = machines.url.replace("@", f":{PASSWORD}@")
        for command in (["journal", "log", with_password], ["backup", with_password, tmp_path / "backup"]):
            code, out, err = abound(*command)
            assert code != 0
            assert "a home is a directory, and not a URL" in err
            assert PASSWORD not in err
        code, out, err = abound("journal", "skip", machines.url, 5, "--reason", "a test", "--json")
        assert code == 0, err
        assert json.loads(out)["skipped"] == [5]
        assert "by all servers" in err
        ends = time.monotonic() + 20
        while "ship4" in _labels(a) + _labels(b):
            assert time.monotonic() < ends
            time.sleep(0.2)
        assert abound("journal", "verify", machines.url, *both)[0] == 0
        assert abound("journal", "verify", machines.folder / "a")[0] == 0
        code, out, err = abound("journal", "verify", machines.folder / "a", "--servers", a.url)
        assert code == 1 or code == 2
        assert "--servers needs the database" in err


def _labels(server):
    answer = httpx.get(f"{server.url}/v1/labels", params={"limit": 100}).json()
    return [row["label"] for row in answer["labels"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--journal", "postgresql://h/d", "--memory", "1G"], "--memory needs several models, or --library"),
        (["--snapshots", "place"], "--snapshots is where several machines find snapshots; it needs --journal"),
        (["--journal", "postgresql://127.0.0.1:9/none"], "postgresql://127.0.0.1:9/none is unavailable"),
        (["--journal", "mysql://127.0.0.1/none"], "--journal must be the URL of a database, such as postgresql://"),
        (["--journal", "postgresql://h/d", "--keep-days", "9"], "--keep-days with --journal needs --snapshots"),
    ],
)
def test_wrong_options_are_said(machines, arguments, message):
    code, _, err = abound("serve", machines.folder / "model", *arguments)
    assert code != 0
    assert message in err
    assert err.count("\n") == 1
    assert not os.path.exists(machines.folder / "model.served")


def test_the_commands_that_write_refuse_a_home_of_a_database(machines):
    with machines.start("a") as server:
        learn(server, "boats", "ship")
        assert server.stop() == 0
    for command in (["journal", "compact", machines.folder / "a"], ["journal", "skip", machines.folder / "a", 1]):
        code, _, err = abound(*command)
        assert code != 0
        assert "is a copy of the journal in postgresql://" in err
    code, _, err = abound("serve", machines.folder / "a")
    assert code != 0
    assert "--journal" in err
