"""Records carry who sent them and from where, and can be listed over HTTP."""

import json
import subprocess
import sys

import httpx
import pytest

from abound.client import Client
from abound.errors import ServerError
from abound.server import Home, Writer
from abound.server.http.keys import KeyFile
from abound.server.http.settings import Settings, authenticator_of
from abound.store.journal import Journal, Origin
from abound.store.journal.records import Learn
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base, stream


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def run(*arguments):
    command = [sys.executable, "-m", "abound", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def teach(home, records):
    with Writer(home, snapshot_every=None) as writer:
        for record in records:
            writer.submit(record, origin=Origin("ann", "page")).result(30)


def origins(home):
    with Journal(home.journal_path) as journal:
        return [(stored.who, stored.source) for stored in journal.read(0)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_record_carries_who_sent_it_and_from_where(home, workers):
    keys = {name: KeyFile(home.path).add(name, scope) for name, scope in (("shop", "learn"), ("boss", "admin"))}
    options = ("--workers", workers, "--user-header", "X-Remote-User")
    body = {"text": "apple pie", "added": ["dessert"]}
    with Running(home.path, *options) as server:
        with server.client(key=keys["shop"]) as client:
            client.learn("apple juice", added=["drink"])
        learned = run("learn", "--server", server.url, "--key", keys["boss"], "--text", "a pear", "--label", "fruit")
        assert learned.returncode == 0, learned.stderr
        for headers in (
            {"X-Abound-Source": "page", "X-Remote-User": "Zoë Müller".encode()},
            {"X-Abound-Source": "a bot " * 100 + "x"},
        ):
            given = {"Authorization": f"Bearer {keys['shop']}", **headers}
            assert httpx.post(server.url + "/v1/learn", json=body, headers=given, timeout=120).status_code == 200
        with server.client(key=keys["boss"]) as client:
            client.add_label("new")
            listed = [(one.sequence, one.who, one.source, one.status) for one in client.records()]
        assert server.stop() == 0
    wanted = [("shop", "client"), ("boss", "command line"), ("Zoë Müller", "page"), ("shop", "api"), ("boss", "client")]
    assert origins(home) == wanted
    assert listed == [(number, *wanted[number - 1], "live") for number in range(5, 0, -1)]


@pytest.mark.parametrize("name", [b"\xff", b"", b" ", b"a\x7fb", b"a" * 201, "a\u2028b".encode()])
def test_a_name_that_is_not_valid_is_refused(home, name):
    KeyFile(home.path).add("other", "read")
    key = KeyFile(home.path).add("shop", "learn")
    authenticator = authenticator_of(Settings(str(home.path), user_header="X-Remote-User"))

    async def conversation(client):
        headers = {"Authorization": f"Bearer {key}", "X-Remote-User": name}
        return await client.post("/v1/learn", json={"text": "a", "added": ["b"]}, headers=headers)

    answer = talk(home, conversation, authenticator=authenticator)
    assert (answer.status_code, "X-Remote-User must be a name" in answer.json()["detail"]) == (400, True)
    assert origins(home) == []


def test_a_name_does_not_replace_the_key(home):
    KeyFile(home.path).add("shop", "learn")
    authenticator = authenticator_of(Settings(str(home.path), user_header="X-Remote-User"))

    async def conversation(client):
        return await client.post("/v1/learn", json={"text": "a", "added": ["b"]}, headers={"X-Remote-User": "somebody"})

    assert talk(home, conversation, authenticator=authenticator).status_code == 401


def test_a_header_of_users_needs_keys_or_a_trusted_proxy(home):
    with pytest.raises(ValueError, match="needs keys, or --trust-proxy"):
        authenticator_of(Settings(str(home.path), user_header="X-Remote-User"))
    with pytest.raises(ValueError, match="must be the name of a header"):
        authenticator_of(Settings(str(home.path), user_header="X Remote", trust_proxy=True))
    assert authenticator_of(Settings(str(home.path), user_header="X-Remote-User", trust_proxy=True))
    refused = run("serve", str(home.path), "--user-header", "X-Remote-User", "--port", "0")
    assert refused.returncode != 0
    assert "--user-header needs keys, or --trust-proxy" in refused.stderr


def test_a_key_of_scope_learn_sees_its_own_records(home):
    keys = {
        name: KeyFile(home.path).add(name, scope)
        for name, scope in (("ann", "learn"), ("bob", "learn"), ("c", "admin"))
    }
    teach(home, stream(3))
    authenticator = authenticator_of(Settings(str(home.path)))

    async def conversation(client):
        answers = {}
        for who, query in (
            ("ann", ""),
            ("ann", "?who=ann"),
            ("ann", "?who=bob"),
            ("bob", ""),
            ("c", ""),
            ("c", "?who=ann"),
        ):
            headers = {"Authorization": f"Bearer {keys[who]}"}
            answers[who, query] = await client.get(f"/v1/records{query}", headers=headers)
        return answers

    answers = talk(home, conversation, authenticator=authenticator)
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 200} == {
        ("ann", "?who=bob"): 403
    }
    found = {name: len(answer.json()["records"]) for name, answer in answers.items() if answer.status_code == 200}
    assert found == {("ann", ""): 3, ("ann", "?who=ann"): 3, ("bob", ""): 0, ("c", ""): 3, ("c", "?who=ann"): 3}


def test_records_are_listed_by_pages_and_filters(home):
    records = [*stream(20), Learn("a lone \ud800 surrogate", added=["odd"])]
    teach(home, records)

    async def conversation(client):
        paged = []
        cursor = ""
        while True:
            page = (await client.get(f"/v1/records?limit=8{cursor}")).json()
            paged += page["records"]
            if "next" not in page:
                break
            cursor = f"&before={page['next']}"
        others = [
            (await client.get(f"/v1/records?{query}")).json()
            for query in (
                "label=climate",
                "kind=rename+label&oldest_first=true",
                "text=LONE",
                "since=2000-01-01&limit=2",
                "until=2000-01-01",
                "after=19&before=21",
            )
        ]
        refused = [
            await client.get(f"/v1/records?{query}")
            for query in (
                "kind=x",
                "since=yesterday",
                "limit=0",
                "before=-1",
                "colour=1",
            )
        ]
        return paged, others, refused

    paged, others, refused = talk(home, conversation)
    assert [one["sequence"] for one in paged] == list(range(21, 0, -1))
    assert paged[0]["text"] == "a lone \ud800 surrogate"
    first = paged[-1]
    assert (first["who"], first["source"], first["kind"], first["added"]) == ("ann", "page", "learn", ["age", "colour"])
    found = [[one["sequence"] for one in answer["records"]] for answer in others]
    # The label was added as "weather", and "plain" was merged into it.
    assert found == [[15, 10, 8, 5], [10], [21], [21, 20], [], [20]]
    assert all(answer["sequence"] == 21 for answer in others)
    assert [answer.status_code for answer in refused] == [422] * 5


def test_records_come_with_the_displayed_names_of_their_labels(home):
    teach(home, stream(16))  # "weather" is named "rain and snow" and becomes "climate"; "plain" is merged into it

    async def conversation(client):
        return (await client.get("/v1/records")).json()["names"]

    assert talk(home, conversation) == dict.fromkeys(("weather", "climate", "plain"), "rain and snow")


def test_records_of_the_archive_are_listed_while_the_server_runs(home):
    with Running(home.path, "--snapshot-every", 5) as server, server.client() as client:
        for number in range(30):
            client.learn(f"text {number}", added=["a"])
        assert [one.sequence for one in client.records(page=7)] == list(range(30, 0, -1))
        assert [one.content["text"] for one in client.records(oldest_first=True, page=4)][:2] == ["text 0", "text 1"]
        shown = run("journal", "log", "--server", server.url, "-n", "2", "--json")
        lines = [json.loads(line) for line in shown.stdout.splitlines()]
        assert [(one["sequence"], one["source"], one["status"]) for one in lines] == [
            (30, "client", "live"),
            (29, "client", "live"),
        ]
        local = run("journal", "log", str(home.path), "-n", "2", "--json")
        assert [json.loads(line) for line in local.stdout.splitlines()] == lines


def test_a_client_without_the_scope_is_told(home):
    key = KeyFile(home.path).add("reader", "read")
    with Running(home.path) as server, Client(server.url, key=key) as client:
        listed = client.records()
        with pytest.raises(ServerError, match="scope learn"):
            next(listed)


@pytest.mark.parametrize("oldest_first", ["true", "false"])
def test_all_records_that_match_are_exported_as_lines(home, oldest_first):
    teach(home, [Learn(f"apple number {n}", added=["fruit"]) for n in range(2100)])
    teach(home, [Learn("a pear", added=["fruit"])])

    async def conversation(client):
        query = f"/v1/records?format=jsonl&text=APPLE&oldest_first={oldest_first}"
        return await client.get(query), await client.get(f"{query}&after=2000&who=bob")

    answer, none = talk(home, conversation)
    assert answer.headers["content-type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in answer.text.splitlines()]
    numbers = list(range(1, 2101))
    assert [row["sequence"] for row in rows] == (numbers if oldest_first == "true" else numbers[::-1])
    assert {"kind": "learn", "who": "ann", "status": "live", "added": ["fruit"]}.items() <= rows[0].items()
    assert none.text == ""
