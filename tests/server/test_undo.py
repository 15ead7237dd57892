"""Undo, forget and refit: the state is that of a journal without the records, or of another base model."""

import gzip
import threading

import pytest

from abound import Tagger
from abound.errors import RefusedRecord, ReusedKey
from abound.server import Follower, Home, Writer
from abound.server.queues import Content, Holder, Lesson, NewText, Queues
from abound.store.journal import Journal, Lineage, Origin, Receipt
from abound.store.journal.records import Forget, Learn, Refit, Undo
from tests.server.streams import base, lesson, stream, trained

RECORDS = stream(40)
SECRET = Learn("an unspeakable xylophone", added=["fruit"], rejected=["vehicle"])


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def teach(writer, records, **given):
    return [writer.submit(record, **given).result(60).sequence for record in records]


def without(records, *numbers):
    return trained([record for number, record in enumerate(records, 1) if number not in numbers]).state_hash()


def all_bytes(home):
    """Return the bytes of all files of a home, compressed ones unpacked."""
    found = b""
    for path in home.path.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            found += gzip.decompress(raw) if path.suffix == ".gz" else raw
    return found


@pytest.mark.parametrize("number", [2, 13, 24, 40])
def test_the_state_after_an_undo_is_that_of_a_journal_without_the_record(home, number):
    with Writer(home) as writer:
        teach(writer, RECORDS)
        before = writer.replica.state_hash()
        receipt = writer.change(Undo([number], "a mistake"), "key", Origin("ann", "page")).result(60)
        assert receipt == Receipt(41, False)
        assert writer.replica.state_hash() == without(RECORDS, number) != before
        assert writer.change(Undo([number], "a mistake"), "key").result(60) == Receipt(41, True)
        with pytest.raises(RefusedRecord, match=f"record {number} does not count already; record 41 undid it"):
            writer.change(Undo([number])).result(60)
        with Follower(home) as follower:
            assert follower.replica.state_hash() == writer.replica.state_hash()
        assert writer.change(Undo([41])).result(60).sequence == 42  # redo
        assert writer.replica.state_hash() == before
    with Writer(home) as writer:
        assert (writer.replica.sequence, writer.replica.state_hash()) == (42, before)
        assert [stored.who for stored in writer.journal.read(40)] == ["ann", None]


@pytest.mark.parametrize(("number", "later"), [(5, "10")])
def test_an_undo_that_later_edits_depend_on_is_refused_with_their_numbers(home, number, later):
    with Writer(home) as writer:
        teach(writer, RECORDS)
        before = writer.replica.state_hash()
        with pytest.raises(RefusedRecord, match=f"undo them first: records {later} "):
            writer.change(Undo([number])).result(60)
        assert (writer.replica.state_hash(), writer.journal.last) == (before, 40)
        numbers = [int(later), number]
        if later == "10":
            numbers = [15, *numbers]  # which merges into the new name
        for one in numbers:
            writer.change(Undo([one])).result(60)
        assert writer.replica.state_hash() == without(RECORDS, *numbers)


def test_records_that_arrive_during_a_rebuild_are_learned(home):
    with Writer(home, snapshot_every=10) as writer, Follower(home) as follower:
        teach(writer, RECORDS)
        changes = [writer.change(Undo([number])) for number in (2, 3)]
        later = [lesson(number) for number in range(100, 130)]
        teach(writer, later)
        numbers = [change.result(60).sequence for change in changes]
        teach(writer, [lesson(200)])
        assert len(set(numbers)) == 2
        assert writer.replica.state_hash() == without([*RECORDS, *later, lesson(200)], 2, 3)
        follower.catch_up()
        assert follower.replica.state_hash() == writer.replica.state_hash()
        assert follower.replica.sequence == writer.replica.sequence == 73
    with Follower(home) as follower:
        assert follower.replica.state_hash() == without([*RECORDS, *later, lesson(200)], 2, 3)


def test_pending_undos_share_one_rebuild(home, monkeypatch):
    from abound.server import rebuilds

    started, go = [], threading.Event()
    start = rebuilds.start_rebuild

    def slow(*args, **kwargs):
        started.append(args)
        go.wait(60)
        return start(*args, **kwargs)

    monkeypatch.setattr(rebuilds, "start_rebuild", slow)
    with Writer(home) as writer:
        teach(writer, RECORDS)
        changes = [writer.change(Undo([number])) for number in (2, 3, 6, 40)]
        go.set()
        for change in changes:
            change.result(60)
        assert 1 <= len(started) <= 2  # the first one may have begun alone
        assert writer.replica.state_hash() == without(RECORDS, 2, 3, 6, 40)


def test_an_undo_that_cannot_be_made_does_not_stop_the_others(home):
    with Writer(home) as writer:
        teach(writer, RECORDS)
        changes = [writer.change(Undo([number])) for number in (2, 5, 99, 3)]
        for change, words in zip(changes, (None, "undo them first", "there is no record 99", None), strict=True):
            if words is None:
                change.result(60)
            else:
                with pytest.raises(RefusedRecord, match=words):
                    change.result(60)
        assert writer.replica.state_hash() == without(RECORDS, 2, 3)


def test_old_records_are_undone_from_the_archive(home):
    with Writer(home, snapshot_every=None) as writer:
        teach(writer, RECORDS)
        for end in (20, 30, 40):
            writer.snapshot(end)
        home.compact(writer.journal, undo_records=5)
        assert (writer.journal.base, home.snapshots()) == (30, [0, 30, 40])
        assert [stored.sequence for stored in writer.journal.read(0)] == list(range(1, 41))
        writer.change(Undo([3])).result(60)
        assert writer.replica.state_hash() == without(RECORDS, 3)
        assert home.snapshots() == [0, 40]
    with Writer(home) as writer:
        assert writer.replica.state_hash() == without(RECORDS, 3)


@pytest.mark.parametrize("is_archived", [False, True])
def test_forgotten_content_is_nowhere(home, is_archived):
    with Writer(home, snapshot_every=None) as writer:
        teach(writer, RECORDS[:20])
        teach(writer, [SECRET], key="secret key", origin=Origin("bob", "page"))
        teach(writer, RECORDS[20:])
        writer.snapshot(25)
        writer.snapshot(41)
        if is_archived:
            home.compact(writer.journal, undo_records=0)
            assert writer.journal.base >= 21
        found = all_bytes(home)
        assert b"xylophone" in found
        assert b"bob" in found
        before = writer.replica.state_hash()
        receipt = writer.change(Forget([21], reason="asked by letter"), "forget", Origin("ann")).result(60)
        assert receipt == Receipt(42, False)
        records = [*RECORDS[:20], *RECORDS[20:]]
        assert writer.replica.state_hash() == without(records)
        found = all_bytes(home)
        assert b"xylophone" not in found
        assert b"unspeakable" not in found
        assert b"bob" not in found
        (written,) = writer.journal.read(41)
        assert written.record == Forget([21], before, without(records), "asked by letter")
        assert written.who == "ann"
        with pytest.raises(RefusedRecord, match="record 21 was forgotten"):
            writer.change(Undo([21])).result(60)
        with pytest.raises(RefusedRecord, match="removed content for ever"):
            writer.change(Undo([42])).result(60)
        with pytest.raises(ReusedKey, match="was forgotten"):
            writer.submit(SECRET, "secret key").result(60)
    with Journal(home.journal_path) as journal:
        assert list(journal.damage()) == []
        assert [stored.record.kind for stored in journal.read(20)][:2] == ["forgotten", RECORDS[20].kind]
    with Writer(home) as writer:
        assert writer.replica.state_hash() == without(records)


def test_an_interrupted_forgetting_is_finished_by_the_next_writer(home, monkeypatch):
    with Writer(home, snapshot_every=None) as writer:
        teach(writer, [*RECORDS[:20], SECRET, *RECORDS[20:]])
        writer.snapshot(30)
        writer.snapshot(41)
        home.compact(writer.journal, undo_records=0)
        monkeypatch.setattr(Journal, "erase", lambda *_: None)
        monkeypatch.setattr(Home, "adopt_rebuilt", lambda *_: None)
        writer.change(Forget([21])).result(60)
    assert b"xylophone" in all_bytes(home)
    monkeypatch.undo()
    with Writer(home) as writer:
        assert b"xylophone" not in all_bytes(home)
        assert writer.replica.state_hash() == without([*RECORDS[:20], *RECORDS[20:]])


def test_the_next_writer_removes_the_texts_of_queues_that_an_interrupted_forgetting_left(home, monkeypatch):
    with Writer(home) as writer, Queues(home.queues_path) as queues:
        teach(writer, [*RECORDS[:3], SECRET])
        queues.add("q", [NewText(SECRET.text), NewText("another text")])
        holder, content = Holder("ann"), Content(added=("fruit",))
        item = queues.lease("q", holder)
        _, decision = queues.begin("q", item.id, holder, content, None, lambda *_: Lesson(content))
        queues.finish(decision, 4)
        monkeypatch.setattr(Queues, "forget_records", lambda *_: 0)
        writer.change(Forget([4])).result(60)
        assert queues.items("q")[0] == 2
    monkeypatch.undo()
    with Writer(home), Queues(home.queues_path) as queues:
        assert [item.text for item in queues.items("q")[1]] == ["another text"]


def test_a_refit_replays_all_records_on_another_model_and_can_be_undone(home):
    other = Tagger().fit(["a green pear", "a slow car", "an old pie"], [["fruit"], ["vehicle"], ["cooking", "climate"]])
    with Writer(home, snapshot_every=10) as writer, Follower(home) as follower:
        teach(writer, RECORDS)
        before = writer.replica.state_hash()
        with pytest.raises(RefusedRecord, match="no base model 'b1'"):
            writer.change(Refit("b1")).result(60)
        other.save(home.base_path("b1"))
        writer.change(Undo([2])).result(60)
        assert writer.change(Refit("b1", "monthly")).result(60).sequence == 42
        assert writer.replica.lineage == Lineage("b1", (2,))
        assert any(entry.label == "cooking" for entry in writer.replica.rank("an old pie"))
        after = writer.replica.state_hash()
        teach(writer, [lesson(100)])
        follower.catch_up()
        assert follower.replica.state_hash() == writer.replica.state_hash() != after
    with Writer(home) as writer:
        assert writer.replica.lineage == Lineage("b1", (2,))
        writer.change(Undo([42])).result(60)
        assert writer.replica.state_hash() == without([*RECORDS, lesson(100)], 2)
        writer.change(Undo([41])).result(60)
        assert writer.replica.state_hash() == without([*RECORDS, lesson(100)]) != before
