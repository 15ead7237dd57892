"""Real programs use the files of deploy/: Prometheus, nginx with TLS, and systemd's socket activation."""

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import urlencode
from urllib.request import urlopen

import httpx
import pytest

from abound import Tagger
from abound.data import read
from abound.server import Home
from abound.server.http.keys import KeyFile
from tests.server.http.running import ROOT, Running

DEPLOY = ROOT / "deploy"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")]
TITLE = "Growing roses in a cold climate"


def needs(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    documents = list(read(ROOT / "examples" / "finna" / "titles.jsonl"))
    tagger = Tagger().fit([one.text for one in documents], [one.labels for one in documents])
    path = tmp_path_factory.mktemp("model") / "subjects"
    tagger.save(path)
    return path


@pytest.fixture
def home(model, tmp_path):
    return Home.create(tmp_path / "subjects.served", Tagger.load(model))


def free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def started(command, log, **options):
    """Run a program until the end of the block."""
    with log.open("wb") as file:
        process = subprocess.Popen(list(map(str, command)), stdout=file, stderr=subprocess.STDOUT, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def wait_for(question, seconds=60, log=None):
    """Ask until there is an answer, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, httpx.HTTPError):
            answer = question()
            if answer:
                return answer
        assert time.monotonic() < deadline, log.read_text() if log else "no answer"
        time.sleep(0.2)


# -- Prometheus --------------------------------------------------------------------------------------


@contextlib.contextmanager
def traffic(server, key):
    """Rank, learn, and ask with a wrong key until the end of the block."""
    done = threading.Event()

    def run():
        with httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {key}"}) as client:
            number = 0
            while not done.wait(0.05):
                number += 1
                client.post("/v1/rank", json={"text": TITLE})
                client.post("/v1/learn", json={"text": f"{TITLE} {number}", "added": ["roses"]})
                client.post("/v1/rank", json={"text": TITLE}, headers={"authorization": "Bearer wrong"})

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def configured(folder, port, key):
    """Write Prometheus' configuration for a server on another port, which is scraped every second."""
    (folder / "key").write_text(key)
    text = (DEPLOY / "prometheus.yml").read_text()
    changes = {"127.0.0.1:8000": f"127.0.0.1:{port}", "/etc/prometheus/abound.key": str(folder / "key"), "15s": "1s"}
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "prometheus.yml").write_text(text)
    shutil.copy(DEPLOY / "alerts.yml", folder)
    return folder / "prometheus.yml"


@needs("prometheus", "promtool")
def test_every_query_of_the_dashboard_has_a_result(home, tmp_path):
    key = KeyFile(home.path).add("prometheus", "learn")
    (port,) = free_ports(1)
    with Running(home.path, "--workers", 2, "--snapshot-every", 50) as server, traffic(server, key):
        file = configured(tmp_path, server.port, key)
        for what in ("config", "rules"):
            subprocess.run(
                ["promtool", "check", what, file if what == "config" else tmp_path / "alerts.yml"], check=True
            )
        command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={tmp_path / 'store'}"]
        with started([*command, f"--web.listen-address=127.0.0.1:{port}"], tmp_path / "log"):
            check_prometheus(f"http://127.0.0.1:{port}/api/v1", tmp_path / "log")


def check_prometheus(api, log):
    def ask(path, **query):
        with urlopen(f"{api}/{path}?{urlencode(query)}", timeout=30) as answer:  # noqa: S310
            return json.load(answer)["data"]

    wait_for(lambda: ask("query", query='up{job="abound"} == 1')["result"], log=log)
    time.sleep(12)  # for rates
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    empty = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"].replace("$__rate_interval", "10s").replace("$instance", ".*")
            result = ask("query", query=query)["result"]
            values = [one["value"][1] for one in result]
            if not values or all(value == "NaN" for value in values):
                empty.append((panel["title"], query))
    assert empty == []
    rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
    assert len(rules) > 8
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    assert firing == []


# The values of series minute by minute: those on which every alert fires, and those of a server without problems.
SERIES = {
    'up{job="abound", instance="a"}': ("0x40", "1x40"),
    'abound_journal_learns{instance="a"}': ("0x40", "1x40"),
    'abound_worker_unapplied{instance="a", pid="7"}': ("12x40", "0x40"),
    'abound_disk_free_bytes{instance="a"}': ("1000000x40", "50000000000x40"),
    'abound_snapshot_state{instance="a", journal="j", sequence="2000", hash="x"}': ("1x40", "1x40"),
    'abound_snapshot_state{instance="b", journal="j", sequence="2000", hash="x"}': ("_x40", "1x40"),
    'abound_snapshot_state{instance="b", journal="j", sequence="2000", hash="y"}': ("1x40", "_x40"),
    'abound_snapshot_records{instance="a"}': ("30000x40", "1999x40"),
    'abound_worker_restarts_total{instance="a"}': ("0+1x40", "1x40"),
    'abound_journal_sequence{instance="a"}': ("5000x40", "5000x40"),
    'abound_worker_sequence{instance="a", pid="7"}': ("1x40", "4999x40"),
    'abound_requests_total{instance="a", status="200"}': ("0+600x40", "0+600x40"),
    'abound_requests_total{instance="a", status="503"}': ("0+60x40", "1x40"),
    'abound_commit_seconds_bucket{instance="a", le="1.0"}': ("0x40", "0+60x40"),
    'abound_commit_seconds_bucket{instance="a", le="5.0"}': ("0+60x40", "0+60x40"),
    'abound_commit_seconds_bucket{instance="a", le="+Inf"}': ("0+60x40", "0+60x40"),
    'abound_request_seconds_bucket{instance="a", endpoint="POST /v1/rank", le="0.1"}': ("0x40", "0+60x40"),
    'abound_request_seconds_bucket{instance="a", endpoint="POST /v1/rank", le="1.0"}': ("0+60x40", "0+60x40"),
    'abound_request_seconds_bucket{instance="a", endpoint="POST /v1/rank", le="+Inf"}': ("0+60x40", "0+60x40"),
    'abound_key_refusals_total{instance="a", reason="unknown"}': ("0+600x40", "0+6x40"),
    'abound_second_opinion_failing{instance="a"}': ("1x40", "0x40"),
}


@needs("promtool")
@pytest.mark.parametrize("fires", [True, False])
def test_alerts_fire_on_problems_only(tmp_path, fires):
    names = re.findall(r"alert: (\w+)", (DEPLOY / "alerts.yml").read_text())
    shutil.copy(DEPLOY / "alerts.yml", tmp_path)
    asked = [
        {
            "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > 0',
            "eval_time": "30m",
            "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
        }
        for name in names
    ]
    series = [{"series": name, "values": values[not fires]} for name, values in SERIES.items()]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": asked}
    file = tmp_path / "test.yml"
    file.write_text(json.dumps({"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# -- nginx -------------------------------------------------------------------------------------------


@pytest.fixture
def proxy(tmp_path):
    """Start nginx with the configuration of deploy/, on other ports, in front of a server."""

    @contextlib.contextmanager
    def start(server):
        plain, secure = free_ports(2)
        certificate = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        files = ["-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"]
        subprocess.run([*certificate, *names, *files], check=True, capture_output=True)
        text = re.sub(r"\n *listen \[::\].*", "", (DEPLOY / "nginx.conf").read_text())
        changes = {
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{secure} ssl",
            "server 127.0.0.1:8000": f"server 127.0.0.1:{server.port}",
            "/etc/ssl/abound": str(tmp_path),
            "abound.example.org": "localhost",
        }
        for before, after in changes.items():
            assert before in text
            text = text.replace(before, after)
        (tmp_path / "abound.conf").write_text(text)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        user = "user root;" if os.geteuid() == 0 else ""
        (tmp_path / "nginx.conf").write_text(
            f"{user} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\n"
            f"http {{ access_log off; {paths} include {tmp_path}/abound.conf; }}\n"
        )
        command = ["nginx", "-c", tmp_path / "nginx.conf", "-p", tmp_path]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        trusted = ssl.create_default_context(cafile=tmp_path / "fullchain.pem")
        asking = httpx.Client(base_url=f"https://localhost:{secure}", verify=trusted, timeout=60)
        with started(command, tmp_path / "nginx.log"), asking as client:
            wait_for(lambda: client.get("/healthz").status_code == 200, log=tmp_path / "error.log")
            yield client, f"http://localhost:{plain}"

    return start


@needs("nginx", "openssl")
def test_nginx_passes_keys_and_hides_what_is_not_public(home, proxy):
    key = KeyFile(home.path).add("the web shop", "learn")
    arguments = ("--name", "subjects", "--user-header", "X-Remote-User", "--client-connections", 1024)
    with Running(home.path, *arguments) as server, proxy(server) as (client, plain):
        moved = httpx.get(f"{plain}/v1/model?hash=1")
        assert (moved.status_code, moved.headers["location"]) == (308, "https://localhost/v1/model?hash=1")
        assert client.post("/v1/rank", json={"text": TITLE}).status_code == 401
        client.headers["authorization"] = f"Bearer {key}"
        ranked = client.post("/v1/rank", json={"text": TITLE})
        assert ranked.status_code == 200
        assert ranked.headers["strict-transport-security"]
        learned = client.post(
            "/v1/learn", json={"text": TITLE, "added": ["roses"]}, headers={"x-remote-user": "somebody else"}
        )
        assert learned.status_code == 200
        (record,) = client.get("/v1/records").json()["records"]
        assert record["who"] == "the web shop"
        assert "https://localhost" in client.get("/reconcile/subjects").text
        assert client.get("/metrics").status_code == 404
        assert client.post("/v1/rank", content=b"x" * (17 << 20)).status_code == 413
        assert client.get("/docs").status_code == 200
        statuses = [client.get("/healthz").status_code for _ in range(400)]
        assert set(statuses) <= {200, 429}
        assert statuses[:50].count(200) == 50


@needs("nginx", "openssl")
def test_nginx_limits_requests(home, proxy):
    key = KeyFile(home.path).add("fast", "read")
    with Running(home.path) as server, proxy(server) as (client, _):
        client.headers["authorization"] = f"Bearer {key}"
        started_at = time.monotonic()
        statuses = [client.get("/v1/model").status_code for _ in range(600)]
        seconds = time.monotonic() - started_at
        assert set(statuses) == {200, 429}
        assert statuses.count(200) <= 101 + 50 * seconds + 1


@needs("nginx", "openssl")
def test_a_server_without_keys_refuses_what_nginx_forwards(home, proxy):
    with Running(home.path) as server, proxy(server) as (client, _):
        refused = client.post("/v1/rank", json={"text": TITLE})
        assert refused.status_code == 403
        assert "proxy forwards" in refused.json()["detail"]


# -- systemd -----------------------------------------------------------------------------------------


@needs("systemd-socket-activate")
@pytest.mark.parametrize("workers", [1, 2])
def test_the_server_takes_the_socket_of_systemd(home, tmp_path, workers):
    (port,) = free_ports(1)
    passed = [f"--setenv={name}" for name in ("PATH", "PYTHONPATH", "TMPDIR", "HOME") if name in os.environ]
    command = [
        "systemd-socket-activate",
        f"--listen=127.0.0.1:{port}",
        *passed,
        sys.executable,
        "-m",
        "abound",
        "serve",
    ]
    with started([*command, home.path, "--workers", workers, "--port", 1], tmp_path / "log", cwd=ROOT) as process:
        address = f"http://127.0.0.1:{port}"
        # systemd-socket-activate starts the program, in its own process, when a client connects.
        wait_for(lambda: httpx.get(f"{address}/readyz", timeout=60).status_code == 200, log=tmp_path / "log")
        ranked = httpx.post(f"{address}/v1/rank", json={"text": TITLE, "k": 1}, timeout=60)
        assert len(ranked.json()["labels"]) == 1
        process.terminate()
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
