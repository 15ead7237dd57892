"""Skipped records, journals of earlier versions, and vectors in records."""

import contextlib
import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from abound.errors import DamagedJournal, JournalError, RefusedRecord
from abound.store.journal import KEY_LIFE, Journal, Receipt
from abound.store.journal.records import (
    AddLabel,
    BandFeedback,
    Learn,
    Undo,
    decode_record,
    decode_vector,
    encode_record,
    encode_vector,
    encoder_hash,
)
from abound.store.journal.rows import VERSION

GOLDEN = Path(__file__).parent / "golden" / "journal-1"
GOLDEN_2 = GOLDEN.parent / "journal-2"


def learn(i):
    return Learn(f"text {i}", added=[f"label {i}"])


@pytest.fixture
def path(tmp_path):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        journal.append([(learn(i), f"key {i}") for i in range(5)])
    return tmp_path / "journal.sqlite"


def test_a_skip_is_kept_with_its_reason(path):
    with Journal(path, write=True) as journal:
        assert journal.skips() == {}
        journal.skip(3, "no memory")
        journal.skip(2)
    with Journal(path) as journal:
        assert [(skip.sequence, skip.reason) for skip in journal.skips().values()] == [(2, ""), (3, "no memory")]
        assert [stored.sequence for stored in journal.read()] == [1, 2, 3, 4, 5]  # it is still there to be read
        assert list(journal.damage()) == []
    with Journal(path, write=True) as journal:
        journal.compact(4)
        assert sorted(journal.skips()) == [2, 3]
        assert list(journal.damage()) == []


@pytest.mark.parametrize(("sequence", "words"), [(0, "records 2 to 5 are kept"), (1, "are kept"), (6, "are kept")])
def test_what_is_not_there_cannot_be_skipped(path, sequence, words):
    with Journal(path, write=True) as journal:
        journal.compact(1)
        with pytest.raises(JournalError, match=words):
            journal.skip(sequence)
        journal.skip(4)
        with pytest.raises(JournalError, match="record 4 is already skipped"):
            journal.skip(4)
    with Journal(path) as journal, pytest.raises(JournalError, match="opened for reading"):
        journal.skip(3)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE skip SET sequence = 2",
        "UPDATE skip SET record = x'00'",
        "UPDATE skip SET reason = x'41'",
        "UPDATE skip SET checksum = x'00'",
        "UPDATE skip SET time = time + 1",
    ],
)
def test_a_damaged_skip_is_found(path, damage):
    with Journal(path, write=True) as journal:
        journal.skip(3, "why")
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with Journal(path) as journal:
        assert any("does not match its checksum" in words for words in journal.damage())
        with pytest.raises(DamagedJournal):
            journal.skips()
    with pytest.raises(DamagedJournal):
        Journal(path, write=True)


def test_a_skip_of_another_journal_does_not_count(tmp_path, path):
    with Journal(path, write=True) as journal:
        journal.skip(3)
    with Journal.create(tmp_path / "other.sqlite") as other:
        other.append([(learn(i), None) for i in range(5)])
    with sqlite3.connect(path) as connection:
        (row,) = connection.execute("SELECT * FROM skip").fetchall()
    connection.close()
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("INSERT INTO skip VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    with Journal(tmp_path / "other.sqlite") as other, pytest.raises(DamagedJournal, match="does not match"):
        other.skips()


def test_a_journal_of_version_1_is_read_and_goes_on(tmp_path):
    for file in GOLDEN.iterdir():
        shutil.copy(file, tmp_path)
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        assert (journal.base, journal.last, journal.skips()) == (1, 5, {})
        assert next(iter(journal.read(2))).record == AddLabel("pear", ["Birne"])
        assert list(journal.damage()) == []
    with Journal(path, write=True) as journal:
        assert journal.find(Learn("a red apple", added=["fruit"]), "key 1") == 1
        assert journal.append([(AddLabel("pear", ["Birne"]), "key 3"), (learn(6), "key 6")]) == [
            Receipt(3, True),
            Receipt(6, False),
        ]
        journal.skip(6)
        assert journal.compact(4) == 3
    with Journal(path) as journal:
        assert [stored.sequence for stored in journal.read(4)] == [5, 6]
        assert sorted(journal.skips()) == [6]
        assert list(journal.damage()) == []


def test_a_key_of_version_1_that_expired_is_not_lost(tmp_path, monkeypatch):
    path = tmp_path / "golden" / "journal.sqlite"
    shutil.copytree(GOLDEN, path.parent)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (written,) = connection.execute("SELECT max(time) FROM record").fetchone()
        connection.execute("DELETE FROM key")
    for seconds, is_lost in ((KEY_LIFE - 1, True), (KEY_LIFE + 1, False)):
        monkeypatch.setattr(time, "time_ns", lambda now=written * 1000 + seconds * 10**9: now)
        with Journal(path) as journal:
            assert any("is lost" in words for words in journal.damage()) == is_lost


def test_a_version_1_can_be_skipped_in_at_once(tmp_path):
    for file in GOLDEN.iterdir():
        shutil.copy(file, tmp_path)
    with Journal(tmp_path / "journal.sqlite", write=True) as journal:
        journal.skip(3)
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert sorted(journal.skips()) == [3]
        assert list(journal.damage()) == []


@pytest.mark.parametrize(
    ("folder", "number", "old", "new"),
    [
        (
            GOLDEN_2,
            2,
            BandFeedback("fruit", 0.25, "suggest", "apply"),
            BandFeedback("fruit", 0.25, "suggest", "apply", "a red apple"),
        ),
        (
            GOLDEN.parent / "journal-3",
            1,
            Learn("a red apple", added=("fruit",)),
            Learn({"title": "Apples", "abstract": "a red fruit"}, added=("fruit",)),
        ),
        (
            GOLDEN.parent / "journal-4",
            1,
            Learn({"title": "Apples", "abstract": "a red fruit"}, added=("fruit",)),
            Undo([1], "a mistake"),
        ),
        (
            GOLDEN.parent / "journal-5",
            1,
            Learn({"title": "Apples", "abstract": "a red fruit"}, added=("fruit",)),
            Learn("a pear", added=("fruit",), vector="36cf4764:Af8=", opinion={"fruit": 0.5}),
        ),
    ],
    ids=["version 2", "version 3", "version 4", "version 5"],
)
def test_a_journal_of_an_earlier_version_is_read_and_goes_on(folder, number, old, new, tmp_path):
    for file in folder.iterdir():
        shutil.copy(file, tmp_path)
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        assert (journal.last, sorted(journal.skips())) == (4, [3])
        assert next(iter(journal.read(number - 1))).record == old
        assert list(journal.damage()) == []
    with Journal(path, write=True) as journal:
        receipts = journal.append([(old, f"key {number}"), (new, "key 5")])
        assert receipts == [Receipt(number, True), Receipt(5, False)]
    with Journal(path) as journal:
        assert [stored.record for stored in journal.read(4)] == [new]
        assert list(journal.damage()) == []
    with sqlite3.connect(path) as connection:
        (content,) = connection.execute("SELECT content FROM meta").fetchone()
    connection.close()
    assert json.loads(content)["version"] == VERSION == 6  # older software must not read it


def test_the_order_of_fields_does_not_matter():
    one, other = ({"title": "a", "abstract": "b"}, {"abstract": "b", "title": "a"})
    assert encode_record(Learn(one, added=("x",))) == encode_record(Learn(other, added=("x",)))
    back = decode_record(encode_record(Learn(one, added=("x",))))
    assert list(back.text) == list(Learn(one, added=("x",)).text)  # a replay joins fields in the same order


@pytest.mark.parametrize("text", [{"title": 3}, {3: "a"}, 3, ["a"]])
def test_other_texts_are_refused(text):
    with pytest.raises(RefusedRecord, match="must be a string"):
        Learn(text, added=("x",))
    with pytest.raises(RefusedRecord, match="must be a string"):
        BandFeedback("x", 0.5, "suggest", "apply", text)


def test_a_journal_of_version_5_keeps_its_checksums_and_its_undone_records(tmp_path):
    for file in (GOLDEN.parent / "journal-5").iterdir():
        shutil.copy(file, tmp_path)
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        before = [journal.checksum(number) for number in range(5)], journal.lineage(), journal.timeline
    with Journal(path, write=True) as journal:
        assert ([journal.checksum(number) for number in range(5)], journal.lineage(), journal.timeline) == before
        assert journal.lineage().excluded == (2, 3)
        assert next(iter(journal.read(1))).who == "Ada"


def test_records_without_vector_and_opinion_keep_their_bytes():
    plain = b'{"accepted":[],"added":["x"],"kind":"learn","rejected":[],"text":"a"}'
    assert encode_record(Learn("a", added=("x",))) == plain
    assert encode_record(Learn("a", added=("x",), opinion={})) == plain
    assert decode_record(plain) == Learn("a", added=("x",))


def test_vector_and_opinion_are_written_and_read():
    record = Learn("a", added=("x",), vector=encode_vector("letters", bytes([1, 255])), opinion={"x": 1, 3: 0.5})
    assert record.opinion == ((3, 0.5), ("x", 1.0))
    assert decode_record(encode_record(record)) == record
    assert decode_vector(record.vector) == (encoder_hash("letters"), bytes([1, 255]))
    same = Learn("a", added=("x",), vector=record.vector, opinion=((3, 0.5), ("x", 1.0)))
    assert encode_record(same) == encode_record(record)
    band = BandFeedback("x", 0.5, "suggest", "apply", "a", record.vector)
    assert decode_record(encode_record(band)) == band


@pytest.mark.parametrize(
    "vector",
    [
        3,
        "",
        "36cf4764",
        "36cf4764:",
        "36CF4764:Af8=",
        "36cf4764:Af8",
        "36cf4764:A f8=",
        "36cf4764:Af9=",
        "x" * 8 + ":Af8=",
        encode_vector("letters", bytes(8193)),
        "36cf4764:" + "A" * 1000000,
        "36cf4764:éf8=",
    ],
)
def test_other_vectors_are_refused(vector):
    with pytest.raises(RefusedRecord, match="vector must"):
        Learn("a", added=("x",), vector=vector)
    with pytest.raises(RefusedRecord, match="vector must"):
        BandFeedback("x", 0.5, "suggest", "apply", "a", vector)


def test_the_largest_vector_is_accepted():
    assert Learn("a", added=("x",), vector=encode_vector("letters", bytes(8192))).vector


@pytest.mark.parametrize(
    "opinion",
    [
        3,
        "x",
        ["x"],
        {"x": "1"},
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": 10**400},
        {"x": True},
        {(): 1.0},
        {str(number): 1.0 for number in range(101)},
        {None: 1.0},
    ],
)
def test_other_opinions_are_refused(opinion):
    with pytest.raises(RefusedRecord, match=r"opinion|score"):
        Learn("a", added=("x",), opinion=opinion)
