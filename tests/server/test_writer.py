"""The writer, its home and its followers."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from abound import Tagger
from abound.errors import (
    DamagedJournal,
    JournalError,
    JournalInUse,
    JournalUnavailable,
    ModelError,
    RefusedRecord,
    ReusedKey,
)
from abound.server import Follower, Home, Writer
from abound.server.children import Outcome
from abound.server.home import Lease
from abound.server.snapshotter import write_snapshot
from abound.store.journal import Journal, Receipt
from abound.store.journal.records import AddLabel, Learn, RetireLabel, Undo
from tests.server.streams import base, lesson, stream, trained

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def send(writer, records, start=0):
    answers = [writer.submit(record, f"key {i}") for i, record in enumerate(records, start)]
    return [answer.result(30).sequence for answer in answers]


def until(is_so):
    deadline = time.monotonic() + 180
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def held(writer):
    """Block a writer, so that the records submitted meanwhile form one group."""
    gate, reached = threading.Event(), threading.Event()
    process = writer._process

    def waiting(requests):
        if requests:  # a writer takes its first turn without any
            reached.set()
            gate.wait(120)
        return process(requests)

    writer._process = waiting
    first = writer.submit(lesson(1000), "held")
    reached.wait(120)
    return gate, first


# -- writing ---------------------------------------------------------------------------------------


def test_what_was_acknowledged_is_known_at_once_and_after_a_restart(home):
    records = stream(36)
    with Writer(home) as writer:
        assert send(writer, records[:20]) == list(range(1, 21))
        assert writer.replica.sequence == 20
    with Writer(home) as writer:
        assert writer.replica.state_hash() == trained(records[:20]).state_hash()
        assert send(writer, records) == list(range(1, 37))  # the first twenty for the second time
        assert writer.submit(records[3], "key 3").result() == Receipt(4, True)
        assert writer.replica.state_hash() == trained(records).state_hash()


def test_records_that_wait_share_a_commit(home, monkeypatch):
    with Writer(home) as writer:
        groups = []
        append = writer.journal.append
        monkeypatch.setattr(writer.journal, "append", lambda group: (groups.append(len(group)), append(group))[1])
        gate, first = held(writer)
        answers = [writer.submit(lesson(i), f"key {i}") for i in range(20)]
        answers += [writer.submit(AddLabel("new"), "label edit"), writer.submit(lesson(20), "key 20")]
        gate.set()
        assert [answer.result(30).sequence for answer in (first, *answers)] == list(range(1, 24))
        assert groups == [1, 20, 1, 1]  # a label edit is committed alone: later records are checked against its result


def test_a_refused_record_is_not_written_and_stops_no_other(home):
    with Writer(home, closed=True) as writer:
        gate, _ = held(writer)
        records = [
            AddLabel("gone"),
            RetireLabel("gone"),
            Learn("x", added=["gone"]),
            Learn("x", added=["unknown"]),
            Learn("x", added=["fruit"]),
            AddLabel("unknown"),
            Learn("x", added=["unknown"]),
        ]
        answers = [writer.submit(record) for record in records]
        gate.set()
        for answer, words in zip(answers[2:4], ("is retired", "vocabulary is closed"), strict=True):
            with pytest.raises(RefusedRecord, match=words):
                answer.result(30)
        assert [answers[i].result(30).sequence for i in (0, 1, 4, 5, 6)] == [2, 3, 4, 5, 6]
        assert writer.journal.last == writer.replica.sequence == 6


def test_a_key_that_comes_twice_in_one_group(home):
    with Writer(home) as writer:
        gate, _ = held(writer)
        keys = ["".join(["sa", "me"]) for _ in range(3)]  # equal, and not the same object
        twice = [writer.submit(lesson(i), key) for i, key in zip((1, 2, 1), keys, strict=True)]
        gate.set()
        assert twice[0].result(30) == Receipt(2, False)
        with pytest.raises(ReusedKey, match="'same' belongs to record 2"):
            twice[1].result(30)
        assert twice[2].result(30) == Receipt(2, True)


def test_many_clients_at_once(home):
    with Writer(home, snapshot_every=40) as writer, ThreadPoolExecutor(8) as clients:
        found = list(clients.map(lambda i: writer.submit(lesson(i % 60), f"key {i % 60}").result(30), range(120)))
        assert sorted(receipt.sequence for receipt in found) == sorted([*range(1, 61)] * 2)
        assert sum(receipt.repeated for receipt in found) == 60
        order = [found[i].sequence for i in range(60)]
    records = [
        record for _, record in sorted(zip(order, map(lesson, range(60)), strict=True), key=lambda pair: pair[0])
    ]
    with Writer(home) as writer:
        assert writer.replica.state_hash() == trained(records).state_hash()


def test_a_full_disk_refuses_and_ranking_goes_on(home):
    with Writer(home) as writer:
        send(writer, stream(3))
        (pages,) = writer.journal._connection.execute("PRAGMA page_count").fetchone()
        writer.journal._connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(JournalUnavailable, match="full"):
            writer.submit(Learn("x" * 50_000, added=["a"]), "big").result(30)
        assert writer.replica.rank("a red apple", 1)[0].label
        writer.journal._connection.execute("PRAGMA max_page_count=100000")
        assert writer.submit(Learn("x" * 50_000, added=["a"]), "big").result(30) == Receipt(4, False, ("a",))


def test_only_so_many_may_wait_and_a_closed_writer_takes_none(home, monkeypatch):
    with Writer(home) as writer:
        gate, _ = held(writer)
        writer._waiting.maxsize = 2
        last = [writer.submit(lesson(i)) for i in range(2)]
        with pytest.raises(JournalUnavailable, match="try again later"):
            writer.submit(lesson(3))
        gate.set()
        last[-1].result(30)
    with pytest.raises(JournalUnavailable, match="closed"):
        writer.submit(lesson(3))
    writer.close()


# -- changes of earlier records --------------------------------------------------------------------


def test_a_change_that_cannot_be_written_is_answered_and_may_be_sent_again(home, monkeypatch):
    records = stream(3)
    with Writer(home) as writer:
        send(writer, records)

        def fail(_):
            raise OSError("the disk is gone")

        monkeypatch.setattr(writer.journal, "append", fail)
        with pytest.raises(JournalUnavailable, match="the change failed: OSError"):
            writer.change(Undo([2])).result(60)
        monkeypatch.undo()
        assert writer.change(Undo([2])).result(60) == Receipt(4, False)
        assert writer.journal.last == 4
        assert writer.replica.state_hash() == trained([records[0], records[2]]).state_hash()


def test_a_record_is_learned_before_a_change_of_the_same_turn(home):
    records = stream(3)
    with Writer(home) as writer:
        send(writer, records)
        gate, first = held(writer)
        change = writer.change(Undo([2]))
        until(lambda: writer.queued == 1)  # its state is prepared
        later = writer.submit(lesson(5))
        gate.set()
        assert [answer.result(60).sequence for answer in (first, later, change)] == [4, 5, 6]
        kept = [records[0], records[2], lesson(1000), lesson(5)]
        assert writer.replica.state_hash() == trained(kept).state_hash()


def test_a_home_that_was_not_writable_refuses_changes_at_once(home, monkeypatch):
    with Writer(home) as writer:
        send(writer, stream(3))
    monkeypatch.setattr(os, "access", lambda *_: False)
    words = "was not writable when the server was started"
    with Writer(home, report=[].append) as writer, pytest.raises(JournalUnavailable, match=words):
        writer.change(Undo([2]))


# -- snapshots and compaction ----------------------------------------------------------------------


def test_snapshots_are_written_in_the_background_and_the_journal_is_compacted(home):
    records = stream(36)
    with Writer(home, snapshot_every=12) as writer:
        for start in range(0, 36, 12):
            send(writer, records[start : start + 12], start)
            until(lambda: start + 12 in home.snapshots() and writer._snapshots.is_idle)  # noqa: B023
        assert home.snapshots() == [0, 12, 24, 36]  # any of these records can be undone quickly
        assert writer.journal.base == 12
        assert writer.snapshot(36)
    with Writer(home) as writer:
        assert writer.replica.state_hash() == trained(records).state_hash()
        assert send(writer, records) == list(range(1, 37))  # keys outlive the records


def test_a_snapshot_that_fails_is_reported(home, monkeypatch):
    words = []
    with Writer(home, report=words.append) as writer:
        send(writer, stream(3))
        (home.snapshot_path(0) / "manifest.json").write_text("{}")
        assert not writer.snapshot(3)
        send(writer, stream(6))
    assert "the snapshot of record 3 failed" in words[0]
    assert "no intact snapshot" in words[0]


def test_a_damaged_snapshot_gives_way_to_the_one_before(home):
    records, words = stream(30), []
    with Writer(home) as writer:
        send(writer, records)
        for sequence in (10, 20):
            write_snapshot(home, sequence)
        home.compact(writer.journal)
    assert home.snapshots() == [0, 10, 20]
    file = next(home.snapshot_path(20).glob("ranker_label_names-*.npy"))
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    with Writer(home, report=words.append) as writer:
        assert writer.replica.state_hash() == trained(records).state_hash()
    assert "snapshot 20" in words[0]
    assert "does not match its checksum" in words[0]
    (home.snapshot_path(10) / "manifest.json").unlink()
    with Writer(home) as writer:  # from the first snapshot and the archive
        assert writer.replica.state_hash() == trained(records).state_hash()
    (home.snapshot_path(0) / "manifest.json").unlink()
    with pytest.raises(ModelError, match="no intact snapshot; snapshot 20"):
        Writer(home)


def test_compaction_stops_at_what_somebody_needs(home):
    with Writer(home) as writer:
        send(writer, stream(36))
        lease = Lease(home.path / "in-use", 10)
        for sequence in (10, 20, 30):
            write_snapshot(home, sequence)
        assert home.compact(writer.journal, undo_records=0) == 10
        assert home.snapshots() == [0, 10, 20, 30]
        lease.move(15)
        assert home.compact(writer.journal, undo_records=0) == 5
        assert home.snapshots() == [0, 20, 30]
        lease.release()
        assert home.compact(writer.journal, undo_records=0) == 5
        assert home.compact(writer.journal) == 0


def test_closing_gives_up_a_snapshot_under_way(home, monkeypatch):
    words = []
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    class Sleeper:
        kill = sleeping.kill

        def wait(self):
            return Outcome(sleeping.wait(), b"", "")

    monkeypatch.setattr("abound.server.snapshots.start_snapshot", lambda *_: Sleeper())
    with Writer(home, snapshot_every=3, report=words.append) as writer:
        send(writer, stream(3))
        until(lambda: writer._snapshots.process is not None)
    assert sleeping.returncode < 0
    assert words == []
    assert not writer.snapshot(3)


def test_what_a_dead_process_needed_holds_nothing_up(home):
    script = (
        "import os, sys; from pathlib import Path; from abound.server.home import Lease\n"
        "lease = Lease(Path(sys.argv[1]), 3); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(home.path / "in-use")]
    with Writer(home) as writer:
        send(writer, stream(12))
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"held\n"
        for sequence in (6, 12):
            write_snapshot(home, sequence)
        assert home.compact(writer.journal) == 3
        process.kill()
        process.communicate()
        assert home.compact(writer.journal) == 3
        assert writer.journal.base == 6


# -- following -------------------------------------------------------------------------------------


def test_followers_hold_the_same_state_at_the_same_sequence(home):
    records = stream(36)
    with Writer(home) as writer, Follower(home) as early:
        send(writer, records[:15])
        with Follower(home) as late:
            assert late.replica.state_hash() == writer.replica.state_hash()
            send(writer, records[15:], 15)
            for sequence in (20, 36):
                write_snapshot(home, sequence)
            home.compact(writer.journal)
            assert (early.catch_up(), late.catch_up()) == (36, 36)
            assert early.replica.state_hash() == late.replica.state_hash() == writer.replica.state_hash()
        script = (
            "import sys; from abound.server import Follower, Home\n"
            "print(Follower(Home(sys.argv[1])).replica.state_hash())"
        )
        run = subprocess.run([sys.executable, "-c", script, str(home.path)], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == writer.replica.state_hash()


def test_a_follower_that_is_behind_keeps_its_records(home, monkeypatch):
    monkeypatch.setattr("abound.server.follower.LEASE_EVERY", 5)
    with Writer(home) as writer, Follower(home) as follower:
        send(writer, stream(24))
        for sequence in (12, 24):
            write_snapshot(home, sequence)
        home.compact(writer.journal)
        assert writer.journal.base == 0
        assert follower.catch_up() == 24
        home.compact(writer.journal)
        assert writer.journal.base == 12


# -- homes -----------------------------------------------------------------------------------------


def test_there_is_one_writer(home):
    with Writer(home), pytest.raises(JournalInUse, match="already has a writer"):
        Writer(home)


def test_a_home_is_made_once_and_in_an_empty_directory(tmp_path, home):
    with pytest.raises(FileExistsError, match="is already the home of a served model"):
        Home.create(home.path, base())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(FileExistsError, match="is not empty"):
        Home.create(tmp_path / "other", base())
    with pytest.raises(JournalError, match=r"is not the home of a served model: it has no journal.sqlite"):
        Home(tmp_path / "other")


def test_a_home_whose_making_was_cut_short_is_finished(tmp_path, monkeypatch):
    path = tmp_path / "home"
    monkeypatch.setattr("abound.tagger.Tagger.arrays", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Home.create(path, base())
    monkeypatch.undo()
    (path / "snapshots" / f"{0:020d}").mkdir(parents=True, exist_ok=True)
    (path / "snapshots" / f"{0:020d}" / "half-0123456789abcdef.npy").touch()
    home = Home.create(path, base())
    with Writer(home) as writer:
        assert writer.replica.rank("apple", 1)[0].label == "fruit"


def test_a_snapshot_of_another_journal_or_of_lost_records_is_refused(tmp_path, home):
    with Writer(home) as writer:
        send(writer, stream(6))
        write_snapshot(home, 6)
    other = Home.create(tmp_path / "other", Tagger())
    for file in home.path.glob("journal.sqlite*"):
        file.unlink()
    for file in other.path.glob("journal.sqlite*"):
        file.rename(home.path / file.name)
    with pytest.raises(ModelError, match="snapshot 6 is of record 6 of journal"):
        Writer(home)


def test_a_journal_behind_its_snapshot_is_refused(tmp_path, home):
    with Journal(home.journal_path, write=True) as journal:
        identity = journal.id
    replica = trained(stream(6))
    replica.journal = identity
    home.write_snapshot(replica)
    with pytest.raises(DamagedJournal, match="records 1 to 6 are lost from the journal"):
        Writer(home)
