"""A record of the journal that cannot be applied: ranking continues before it, and it can be skipped."""

import json
import re
import subprocess
import sys
import time

import httpx
import pytest

from abound.errors import JournalError, JournalInUse, JournalUnavailable, UnappliedRecord
from abound.server import Follower, Home, Writer
from abound.server.snapshotter import write_snapshot
from abound.store.journal import Journal
from abound.store.journal.records import Learn, MergeLabels
from tests.environment import unmeasured
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base, lesson, stream, trained

# Such a record was refused before it was written; it stands for all that some version or machine cannot apply.
START = [Learn("one", added=["one"]), Learn("two", added=["two"]), MergeLabels("one", "two")]
IMPOSSIBLE = Learn("a pear", added=["two"], rejected=["one"])  # one and the same
LIMITED = """
import json, resource, sys
import abound.server.cost
from abound.errors import JournalUnavailable
from abound.server import Follower, Home, Writer
from abound.store.journal.records import Learn, MergeLabels

home, what = Home(sys.argv[1]), sys.argv[2]
text, labels = " ".join(f"w{i}" for i in range(8000)), [f"l{i}" for i in range(4000)]

def limit(megabytes):
    held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + (megabytes << 20), resource.RLIM_INFINITY))

def learn(writer, record):
    try:
        return writer.submit(record).result(100).sequence
    except JournalUnavailable as error:
        return str(error)

if what == "learn":
    abound.server.cost.MAX_COST = 10**12  # as before there was a bound
else:
    limit(200)
said = []
with Writer(home, snapshot_every=None, report=said.append) as writer:
    found = []
    if what == "learn":
        limit(200)
        found.append(learn(writer, Learn(text, added=labels)))
    found.append(learn(writer, Learn("a pear", added=["fruit"])))
    with Follower(home) as follower:
        seen = [follower.replica.sequence, str(follower.replica.unapplied)]
    best = writer.replica.rank("a red apple", 1)[0].label
    replica = writer.replica
    print(json.dumps([replica.sequence, best, replica.state_hash(), found, seen, said, writer.journal.last]))
"""


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def teach(home, records):
    with Writer(home, snapshot_every=None) as writer:
        for record in records:
            writer.submit(record).result(30)


def write(home, *records):
    with Journal(home.journal_path, write=True) as journal:
        journal.append([(record, None) for record in records])


def until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def run_limited(home, what):
    command = [sys.executable, "-c", LIMITED, str(home.path), what]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=unmeasured())
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set by what /proc says")
def test_without_memory_ranking_goes_on_before_the_record(home):
    records = stream(5)
    teach(home, records)
    sequence, best, state, found, seen, said, last = run_limited(home, "learn")
    assert (sequence, best, last) == (5, "fruit", 6)
    assert state == trained(records).state_hash()
    assert all("record 6 cannot be applied (MemoryError" in words for words in (*found, seen[1], said[0]))
    assert all(f"`abound journal skip {home.path} 6`" in words for words in found)
    assert seen[0] == 5
    sequence, best, state, found, seen, said, _ = run_limited(home, "open")  # every start would have failed
    assert (sequence, best, state, seen[0]) == (5, "fruit", trained(records).state_hash(), 5)
    assert "record 6 cannot be applied (MemoryError" in found[0]
    home.skip(6, "no memory")
    with Writer(home, snapshot_every=None) as writer:
        assert writer.submit(lesson(7)).result(30).sequence == 7
        assert writer.replica.state_hash() == trained([*records, lesson(7)]).state_hash()


def test_a_failure_while_learning_answers_all_that_wait(home, monkeypatch):
    said = []
    teach(home, START)
    monkeypatch.setattr("abound.server.replica.Replica.check", lambda *_, **__: None)
    with Writer(home, snapshot_every=None, report=said.append) as writer:
        answers = [writer.submit(record) for record in (lesson(1), IMPOSSIBLE, lesson(2))]
        assert answers[0].result(30).sequence == 4
        for answer in answers[1:]:
            with pytest.raises(UnappliedRecord, match="record 5 cannot be applied"):
                answer.result(30)
        assert writer.replica.sequence == 4
        assert writer.replica.state_hash() == trained([*START, lesson(1)]).state_hash()
        assert writer.replica.rank("a red apple", 1)
    assert len(said) == 1


def test_lessons_of_one_commit_wait_with_the_one_that_failed(home, monkeypatch):
    said = []
    teach(home, [MergeLabels("vehicle", "fruit")])
    monkeypatch.setattr("abound.server.replica.Replica.check", lambda *_, **__: None)
    impossible = Learn("a pear", added=["fruit"], rejected=["vehicle"])  # one and the same
    with Writer(home, snapshot_every=None, report=said.append) as writer:
        with writer.replica.reading():  # so that all but the first are committed together
            answers = [writer.submit(record) for record in (lesson(1), impossible, lesson(2), lesson(3))]
        assert answers[0].result(30).sequence == 2
        for answer in answers[1:]:
            with pytest.raises(UnappliedRecord, match="record 3 cannot be applied"):
                answer.result(30)
        assert (writer.replica.sequence, writer.journal.last) == (2, 5)
        assert writer.replica.state_hash() == trained([MergeLabels("vehicle", "fruit"), lesson(1)]).state_hash()
    assert len(said) == 1


def test_the_server_ranks_and_answers_503_to_what_it_is_taught(home):
    teach(home, START)
    write(home, IMPOSSIBLE, lesson(2))

    async def conversation(client):
        return (
            await client.post("/v1/rank", json={"text": "a red apple"}),
            await client.post("/v1/learn", json={"text": "a pear", "added": ["fruit"]}),
            await client.get("/healthz"),
        )

    ranked, refused, health = talk(home, conversation)
    assert (ranked.status_code, ranked.json()["sequence"], health.status_code) == (200, 3, 200)
    assert refused.status_code == 503
    assert f"`abound journal skip {home.path} 4`" in refused.json()["detail"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_cannot_learn_says_so_and_ranks(home, workers):
    teach(home, START)
    write(home, IMPOSSIBLE, lesson(2))
    with Running(home.path, "--workers", workers) as server:
        ready = until_ready(server)
        assert (ready.status_code, ready.json()["status"], ready.json()["sequence"]) == (200, "ranks only", 3)
        assert f"`abound journal skip {home.path} 4`" in ready.json()["detail"]
        assert httpx.post(server.url + "/v1/rank", json={"text": "a red apple"}, timeout=120).json()["sequence"] == 3
        figures = httpx.get(server.url + "/metrics", timeout=120).text
        assert "abound_journal_learns 0.0" in figures
        assert unapplied_of(figures) == ["4.0"] * workers
    home.skip(4, "tried to merge what nobody knows")
    with Running(home.path, "--workers", workers) as server:
        ready = until_ready(server).json()
        assert ready == {"status": "ready", "sequence": 5}
        figures = httpx.get(server.url + "/metrics", timeout=120).text
        assert "abound_journal_learns 1.0" in figures
        assert unapplied_of(figures) == ["0.0"] * workers


def unapplied_of(figures):
    return re.findall(r'^abound_worker_unapplied{pid="\d+"} (\S+)$', figures, re.MULTILINE)


def until_ready(server):
    ends = time.monotonic() + 180
    while (answer := httpx.get(server.url + "/readyz", timeout=120)).status_code == 503:
        assert time.monotonic() < ends, answer.text
        time.sleep(0.05)
    return answer


def test_a_failure_while_learning_is_seen_at_once(home, monkeypatch):
    teach(home, START)

    async def conversation(client):
        before = await client.get("/readyz")
        monkeypatch.setattr("abound.server.replica.Replica.check", lambda *_, **__: None)
        lesson = {"text": IMPOSSIBLE.text, "added": IMPOSSIBLE.added, "rejected": IMPOSSIBLE.rejected}
        return before, await client.post("/v1/learn", json=lesson), await client.get("/readyz")

    before, refused, after = talk(home, conversation)
    assert (before.json()["status"], refused.status_code) == ("ready", 503)
    assert (after.status_code, after.json()["status"], after.json()["sequence"]) == (200, "ranks only", 3)
    assert "record 4 cannot be applied" in after.json()["detail"]


def test_all_replicas_skip_the_same_record(home):
    teach(home, START)
    write(home, IMPOSSIBLE, lesson(2))
    follower = Follower(home)
    assert follower.replica.unapplied is not None
    home.skip(4, "tried to merge what nobody knows")
    assert follower.catch_up() == 5  # without being opened again
    with Writer(home, snapshot_every=None) as writer:
        assert writer.submit(lesson(3)).result(30).sequence == 6
        write_snapshot(home, 6)
        follower.catch_up()
        wanted = trained([*START, lesson(2), lesson(3)]).state_hash()
        assert writer.replica.state_hash() == follower.replica.state_hash() == wanted
    follower.close()
    with Writer(home) as writer:
        assert (writer.replica.snapshot, writer.replica.lineage.excluded) == (6, (4,))
        assert writer.replica.state_hash() == wanted


def test_a_skip_takes_back_what_was_learnt_where_a_snapshot_allows_it(home):
    records = stream(9)
    teach(home, records)
    write_snapshot(home, 4)
    write_snapshot(home, 8)
    follower = Follower(home)
    assert home.skip(6) == [8]
    wanted = trained([record for i, record in enumerate(records) if i != 5]).state_hash()
    assert follower.catch_up() == 9
    assert follower.replica.state_hash() == wanted
    follower.close()
    with Writer(home) as writer:
        assert writer.replica.state_hash() == wanted
        home.compact(writer.journal)
    assert home.snapshots() == [0, 4]


def test_a_snapshot_that_was_overtaken_is_never_loaded(home):
    records, said = stream(9), []
    teach(home, records)
    write_snapshot(home, 8)
    with Journal(home.journal_path, write=True) as journal:
        journal.skip(6)  # and then the power failed
    wanted = trained([record for i, record in enumerate(records) if i != 5]).state_hash()
    with Follower(home) as follower:  # which removes no snapshot
        assert follower.replica.state_hash() == wanted
    with Writer(home, snapshot_every=None, report=said.append) as writer:
        assert writer.replica.state_hash() == wanted
    assert home.snapshots() == [0]


def test_a_skip_is_refused_if_every_snapshot_includes_the_record(home):
    teach(home, stream(9))
    for sequence in (4, 8):
        write_snapshot(home, sequence)
    with Journal(home.journal_path, write=True) as journal:
        home.compact(journal)
    with pytest.raises(JournalError, match="records 5 to 9 are kept"):
        home.skip(4)
    (home.snapshot_path(4) / "manifest.json").unlink()
    with pytest.raises(JournalError, match="every snapshot already includes it"):
        home.skip(6)
    with pytest.raises(JournalError, match="are kept"):
        home.skip(10)
    with Writer(home), pytest.raises(JournalInUse):
        home.skip(9)
    with Journal(home.journal_path) as journal:
        assert journal.skips() == {}


def test_a_replica_that_cannot_be_loaded_again_says_so(home, monkeypatch):
    said = []
    teach(home, START)
    monkeypatch.setattr("abound.server.replica.Replica.check", lambda *_, **__: None)
    with Writer(home, snapshot_every=None, report=said.append) as writer:
        (home.snapshot_path(0) / "manifest.json").unlink()
        with pytest.raises(JournalUnavailable):
            writer.submit(IMPOSSIBLE).result(30)
        with pytest.raises(Exception, match="failed at record"):
            writer.replica.rank("apple")
    assert "the state before record 4 cannot be loaded" in said[1]


def test_a_replica_that_failed_is_loaded_again_until_that_succeeds(home, monkeypatch):
    def is_said(words):
        return any(words in message for message in said)

    said, manifest = [], home.snapshot_path(0) / "manifest.json"
    teach(home, START)
    monkeypatch.setattr("abound.server.replica.Replica.check", lambda *_, **__: None)
    monkeypatch.setattr("abound.server.writer.RECOVERY_SECONDS", 0.1)
    with Writer(home, snapshot_every=None, report=said.append) as writer:
        content = manifest.read_bytes()
        manifest.unlink()
        with pytest.raises(JournalUnavailable):
            writer.submit(IMPOSSIBLE).result(30)
        until(lambda: is_said("the model cannot be loaded again; next attempt in 0.2 s"))
        manifest.write_bytes(content)
        until(lambda: is_said("the model was loaded again, and is at record 3"))
        assert writer.replica.rank("one", 1)[0].label == "two"


def test_learn_is_what_people_taught(home):
    """A skipped text is not counted as a decision."""
    teach(home, START)
    write(home, Learn("a pear", added=["fruit"]))
    home.skip(4)
    with Writer(home, snapshot_every=None) as writer:
        assert writer.replica.history.learned == trained(START).history.learned
        writer.submit(lesson(5)).result(30)
    write_snapshot(home, 5)
    with Writer(home, snapshot_every=None) as writer:  # its history includes the records of the snapshot
        assert writer.replica.snapshot == 5
        assert writer.replica.history.learned == trained([*START, lesson(5)]).history.learned
