"""The archive, forgetting, copies and salvage of a journal."""

import gzip
import json
import shutil
import sqlite3

import pytest

from abound.errors import CompactedAway, DamagedJournal, JournalError, RefusedRecord
from abound.store.journal import Entry, Journal, Origin
from abound.store.journal.copying import copy_journal, salvage
from abound.store.journal.records import Forget, Forgotten, Learn, Refit, Undo


def learn(number):
    return Learn(f"text {number}", added=[f"label {number}"])


@pytest.fixture
def path(tmp_path):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        journal.append([Entry(learn(n), f"key {n}", Origin("ann", "page")) for n in range(1, 31)])
        for upto in (10, 20):
            journal.compact(upto)
    return tmp_path / "journal.sqlite"


def numbers(journal, after=0):
    return [stored.sequence for stored in journal.read(after)]


def test_records_are_read_from_the_archive_and_the_file(path):
    with Journal(path, write=True) as journal:
        assert (journal.start, journal.base, journal.last) == (0, 20, 30)
        for after in (0, 5, 10, 19, 20, 25):
            stored = list(journal.read(after))
            assert [one.sequence for one in stored] == list(range(after + 1, 31))
            assert [one.record for one in stored] == [learn(n) for n in range(after + 1, 31)]
            assert {(one.who, one.source) for one in stored} == {("ann", "page")}
        assert journal.find(learn(3), "key 3") == 3
        assert list(journal.damage()) == []


def test_a_long_archive_is_read(path):
    with Journal(path, write=True) as journal:
        journal.append([Entry(learn(n)) for n in range(31, 401)])
        for upto in (300, 390):
            journal.compact(upto)
        assert numbers(journal) == list(range(1, 401))
        assert list(journal.damage()) == []


def test_a_reader_goes_on_when_a_writer_archives_what_it_reads(path, monkeypatch):
    with Journal(path, write=True) as writer, Journal(path) as reader:
        page = reader._page

        def overtaken(after):
            writer.compact(28)
            return page(after)

        monkeypatch.setattr(reader, "_page", overtaken)
        assert numbers(reader, 20) == list(range(21, 31))


def test_a_damaged_key_is_noticed_after_its_record_was_removed(path):
    with Journal(path, write=True) as journal:
        assert journal.retain(10) == 10
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE key SET time = time + 1 WHERE sequence = 3")
    connection.close()
    with Journal(path) as journal:
        assert list(journal.damage()) == [f"the idempotency key b'key 3' of {path} does not match its checksum"]


def test_what_is_no_longer_kept_is_said(path):
    with Journal(path, write=True) as journal:
        assert journal.retain(15) == 10
        assert journal.start == 10
        with pytest.raises(CompactedAway, match="records 1 to 10 are no longer kept"):
            next(journal.read(0))
        assert numbers(journal, 10) == list(range(11, 31))
        assert list(journal.damage()) == []
    assert len(list(path.with_name("archive").iterdir())) == 1


def test_a_damaged_or_missing_segment_is_noticed(path, tmp_path):
    first, second = sorted(path.with_name("archive").iterdir())
    raw = bytearray(first.read_bytes())
    raw[len(raw) // 2] ^= 1
    first.write_bytes(raw)
    with Journal(path) as journal:
        assert "cannot be read" in next(journal.damage())
    first.unlink()
    with Journal(path) as journal:
        assert "has lost the archived records 1 to 20" in next(journal.damage())
        assert numbers(journal, 20) == list(range(21, 31))
    with pytest.raises(DamagedJournal):
        Journal(path, write=True)
    assert second.exists()


def test_a_segment_of_another_journal_is_noticed(path, tmp_path):
    (tmp_path / "other").mkdir()
    with Journal.create(tmp_path / "other" / "journal.sqlite") as one:
        one.append([Entry(learn(n)) for n in range(1, 31)])
        one.compact(10)
    ours = min(path.with_name("archive").iterdir())
    theirs = next((tmp_path / "other" / "archive").iterdir())
    shutil.copy(theirs, ours.parent)
    ours.unlink()
    with Journal(path) as journal:
        assert "it is not of journal" in next(journal.damage())


def test_leftovers_of_an_interrupted_compaction_do_not_count(path):
    copy = path.with_name("copy")
    shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("copy"))
    with Journal(path, write=True) as journal:
        journal.compact(25)
    newest = max(path.with_name("archive").iterdir())
    shutil.copy(newest, copy / "archive")
    with Journal(copy / path.name, write=True) as journal:
        assert numbers(journal) == list(range(1, 31))
        journal.compact(28)
        assert numbers(journal) == list(range(1, 31))
        assert list(journal.damage()) == []


def test_content_that_is_lost_without_a_receipt_is_damage(path):
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE record SET key = NULL, origin = NULL, payload = NULL, salt = NULL WHERE sequence = 25"
        )
    connection.close()
    with Journal(path) as journal:
        assert list(journal.damage()) == [f"the content of record 25 of {path} is lost"]


def test_forgotten_records_stay_in_the_chain(path):
    with Journal(path, write=True) as journal:
        journal.forget(Entry(Forget([5, 25], "a", "b")))
        journal.erase()
        assert journal.lineage().excluded == (5, 25)
        kinds = {stored.sequence: stored for stored in journal.read(0)}
        assert kinds[5].record == kinds[25].record == Forgotten()
        assert kinds[25].who is None
        assert list(journal.damage()) == []
        assert journal.compact(28) == 8
        assert list(journal.damage()) == []
    for file in (path, path.with_name(path.name + "-wal")):
        assert not file.exists() or b"text 25" not in file.read_bytes()


@pytest.mark.parametrize(
    "damage", ["UPDATE control SET sequence = 29", "DELETE FROM control", "UPDATE control SET payload = x'00'"]
)
def test_a_damaged_copy_of_a_control_record_is_noticed(path, damage):
    with Journal(path, write=True) as journal:
        journal.append([Entry(Undo([3], "why")), Entry(Refit("b1"))])
        assert journal.lineage() == ("b1", (3,))
    with sqlite3.connect(path) as connection:
        connection.execute(damage + (" WHERE sequence = 31" if "UPDATE" in damage else ""))
    connection.close()
    with Journal(path) as journal:
        assert list(journal.damage()) != []


def test_a_text_that_looks_like_a_control_record_is_a_text(path):
    with Journal(path, write=True) as journal:
        journal.append([Entry(Learn({"kind": "undo", "records": "3"}, added=["a"]))])
        assert journal.controls() == {}
        assert list(journal.damage()) == []


@pytest.mark.parametrize("bad", [[], [0], [True], "12", None, [1.5], [1 << 62]])
def test_an_undo_needs_numbers_of_records(bad):
    with pytest.raises(RefusedRecord, match="records must be a list"):
        Undo(bad)


@pytest.mark.parametrize("upto", [30, 27, 20, 14, 10, 3])
def test_a_copy_ends_where_it_should(path, upto):
    with Journal(path, write=True) as journal:
        journal.append([Entry(Undo([2]))])
    copy = path.with_name("copy.sqlite")
    with Journal(path) as journal:
        token = journal.token
        assert copy_journal(journal, copy, upto) == upto
    home = path.with_name("restored")
    home.mkdir()
    for suffix in ("", "-wal", ".head"):
        if copy.with_name(copy.name + suffix).exists():
            copy.with_name(copy.name + suffix).rename(home / f"journal.sqlite{suffix}")
    shutil.copytree(path.with_name("archive"), home / "archive")
    with Journal(home / "journal.sqlite", write=True) as journal:
        assert numbers(journal) == list(range(1, upto + 1))
        assert journal.token != token
        assert journal.lineage().excluded == ()
        assert journal.append([Entry(learn(2), "key 2"), Entry(learn(99), "key 99")])[1].sequence == upto + 1
        journal.compact(upto)
        assert numbers(journal) == list(range(1, upto + 2))
        assert list(journal.damage()) == []


def test_a_damaged_journal_is_salvaged_up_to_the_damage(path):
    assert salvage(path) is None
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE record SET payload = x'00' WHERE sequence = 27")
    connection.close()
    result = salvage(path)
    assert (result.first, result.last, result.acknowledged) == (1, 26, 30)
    assert "record 27" in result.problems[0]
    assert result.aside == path.with_name(path.name + ".damaged-1")
    assert (result.aside / path.name).exists()
    with Journal(path, write=True) as journal:
        assert numbers(journal) == list(range(1, 27))
        assert journal.append([Entry(learn(27))])[0].sequence == 27


def test_every_salvage_keeps_the_damaged_journal(path):
    for number in (1, 2):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE record SET payload = x'00' WHERE sequence = ?", (29 - number,))
        connection.close()
        assert salvage(path).aside.name == f"{path.name}.damaged-{number}"


def test_a_lost_segment_costs_the_records_of_the_archive(path):
    sorted(path.with_name("archive").iterdir())[0].unlink()
    result = salvage(path)
    assert (result.first, result.last, result.acknowledged) == (21, 30, 30)


def test_files_of_an_interrupted_archiving_are_removed(path):
    unfinished = path.with_name("archive") / ".writing-1"
    unfinished.write_text("half of a segment")
    with Journal(path, write=True) as journal:
        assert unfinished.exists()
        journal.compact(25)
        assert not unfinished.exists()
        assert numbers(journal) == list(range(1, 31))


def test_an_archive_names_its_format(path):
    with gzip.open(sorted(path.with_name("archive").iterdir())[0], "rt") as lines:
        head = json.loads(next(lines))
    assert (head["format"], head["version"]) == ("abound journal archive", 1)


def test_a_damaged_archive_costs_only_its_records(path):
    first, _ = sorted(path.with_name("archive").iterdir())
    first.write_bytes(b"")
    result = salvage(path)
    assert (result.first, result.last, result.acknowledged) == (11, 30, 30)
    with Journal(path, write=True) as journal:
        assert numbers(journal, 10) == list(range(11, 31))


def test_a_journal_with_a_writer_is_not_salvaged(path):
    with Journal(path, write=True), pytest.raises(JournalError, match="stop the server first"):
        salvage(path)
