"""The journal: each acknowledged record is read again once, or an error names what is missing."""

import itertools
import random
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.errors import (
    DamagedJournal,
    JournalError,
    JournalInUse,
    JournalUnavailable,
    RefusedRecord,
    ReusedKey,
)
from abound.store.journal import Entry, Journal, Origin, Receipt
from abound.store.journal.commit_marker import CommitMarker
from abound.store.journal.file import SCHEMA
from abound.store.journal.records import (
    MAX_PLAIN_BYTES,
    AddLabel,
    BandFeedback,
    EditLabels,
    Forget,
    Learn,
    MergeLabels,
    MoveLabel,
    Refit,
    RenameLabel,
    RetireLabel,
    Undo,
    decode_record,
    encode_record,
)
from abound.store.journal.rows import MAX_ORIGIN, Meta, digest_of

NAME = st.text(max_size=5) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
TEXT = st.text(st.characters(codec=None, exclude_categories=[]), max_size=20)  # lone surrogates too


def learn(number):
    return Learn(f"text {number}", added=[f"label {number}"])


def entries(n, start=0):
    return [(learn(i), f"key {i}") for i in range(start, start + n)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path):
    with Journal.create(path) as journal:
        yield journal


def numbers(journal, after=0):
    return [stored.sequence for stored in journal.read(after)]


# -- records ---------------------------------------------------------------------------------------


@given(TEXT, st.lists(NAME, max_size=3), NAME)
def test_a_record_comes_back_as_it_was(text, labels, name):
    records = [RetireLabel(name), MergeLabels(name, "x"), RenameLabel("x", name), AddLabel(name, [text])]
    records += [BandFeedback(name, 0.1, "hide", "suggest"), Learn(text, added=labels, rejected=["a wrong label"])]
    for record in records:
        again = decode_record(encode_record(record))
        assert again == record
        assert repr(again) == repr(record)  # 1, 1.0 and True are equal, and not the same


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Learn(b"bytes", added=["a"]), "a text must be a string, or a mapping from field to string, got bytes"),
        (lambda: Learn("text"), "at least one label"),
        (lambda: Learn("text", added="fruit"), "added must be a list of labels, got 'fruit'"),
        (lambda: Learn("text", added=[None]), "each of added must be a string or a finite number, got None"),
        (lambda: Learn("text", added=[float("nan")]), "finite number, got nan"),
        (lambda: Learn("text", added=["a"], rejected=["a"]), "'a' is given as both right and wrong"),
        (lambda: Learn("text", added=map(str, range(10_001))), "at most 10,000 labels, got 10,001"),
        (lambda: AddLabel("a", [1]), "the names of label 'a' must be strings"),
        (lambda: RenameLabel("a", ["b"]), "to must be a string"),
        (lambda: BandFeedback("a", float("inf"), "x", "y"), "a score must be a finite number, got inf"),
        (lambda: BandFeedback("a", 1, "", "y"), "shown must be the name of a band"),
        (lambda: MoveLabel("a", schemes=[1]), "the schemes of label 'a' must be strings"),
        (lambda: MoveLabel("a", schemes="b"), "the schemes of label 'a' must be a list"),
        (lambda: EditLabels("retire"), "edits must be a list of label edits, got 'retire'"),
        (lambda: EditLabels(7), "edits must be a list of label edits, got 7"),
        (lambda: EditLabels([]), "1 to 50,000 label edits, got 0"),
        (lambda: EditLabels([{"kind": "learn", "text": "a", "added": ["b"]}]), "edit 1 .* 'learn' is not a label edit"),
        (lambda: EditLabels([RetireLabel("a"), {"kind": "nothing"}]), "edit 2 cannot be read"),
        (lambda: EditLabels([{"kind": "retire label", "label": [1]}]), "edit 1 cannot be read"),
        (lambda: Undo([1], "x" * 1001), "a reason must be a string of at most 1,000 characters"),
        (lambda: Undo([], "x"), "records must be a list of the numbers of records"),
        (lambda: Forget([1], before=7), "before must be the hash of a state, got 7"),
        (lambda: Refit("../other"), "base must be the name of a model"),
        (lambda: Origin("").encode(), "who must be a name of 1 to"),
        (lambda: Origin("ann", "x" * (MAX_ORIGIN + 1)).encode(), "source must be a name of 1 to"),
        (lambda: Origin(7).encode(), "who must be a name of 1 to"),
        (lambda: encode_record(Learn("x" * MAX_PLAIN_BYTES, added=["a"])), "at most 1,048,576 bytes"),
    ],
)
def test_what_is_no_record_is_refused_with_a_reason(make, words):
    with pytest.raises(RefusedRecord, match=words):
        make()


def test_label_edits_may_be_given_as_json_types():
    assert EditLabels([{"kind": "retire label", "label": "a"}]) == EditLabels([RetireLabel("a")])


@pytest.mark.parametrize(
    "change",
    [
        {"id": 7},
        {"timeline": None},
        {"base": -1},
        {"base": 1 << 40},
        {"base": True},
        {"archive_base": 6},
        {"clock": 1 << 62},
        {"base_checksum": b"short"},
    ],
    ids=str,
)
def test_a_description_with_invalid_values_is_refused(change):
    right = Meta("journal", 10, 5, digest_of(b"x"), archive_base=5)
    assert Meta.decode(*right.encode()) == right
    with pytest.raises(DamagedJournal, match="invalid values"):
        Meta.decode(*right._replace(**change).encode())


@pytest.mark.parametrize("content", [b"{}", b"[]", b"no JSON", b'{"format": "abound journal"}'])
def test_a_description_that_cannot_be_read_is_damage(content):
    with pytest.raises(DamagedJournal, match="description cannot be read"):
        Meta.decode(content, digest_of(content))


def test_reasons_and_origins_may_have_their_full_length():
    assert decode_record(encode_record(Undo([1], "x" * 1000))).reason == "x" * 1000
    assert len(Origin("x" * MAX_ORIGIN).encode()) > MAX_ORIGIN


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"kind":"no"}', b'{"kind":"learn"}', b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_record_are_refused(raw):
    with pytest.raises(ValueError, match=r"."):
        decode_record(raw)


# -- appending and reading -------------------------------------------------------------------------


def test_records_are_read_in_order_from_any_sequence(journal, path):
    assert journal.append(entries(3)) == [Receipt(1, False), Receipt(2, False), Receipt(3, False)]
    journal.append(entries(250, 3))
    with Journal(path) as reader:
        assert (reader.base, reader.last, reader.id) == (0, 253, journal.id)
        assert numbers(reader) == list(range(1, 254))
        assert numbers(reader, 200) == list(range(201, 254))
        assert numbers(reader, 253) == []
        stored = next(reader.read(7))
        assert (stored.record, stored.key) == (learn(7), "key 7")
        assert abs(stored.time / 1e6 - time.time()) < 60
        with pytest.raises(JournalError, match="opened for reading"):
            reader.append(entries(1))
        journal.append(entries(1, 300))
        assert reader.last == 254


def test_a_group_is_one_commit(journal, monkeypatch):
    commits = []
    commit = journal._commit
    monkeypatch.setattr(journal, "_commit", lambda: (commits.append(1), commit()))
    journal.append(entries(64))
    assert len(commits) == 1
    assert journal.append(entries(64)) == [Receipt(i + 1, True) for i in range(64)]
    assert len(commits) == 1


def test_commits_are_synced(journal):
    assert journal._connection.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
    assert journal._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_group_with_a_record_that_cannot_be_written_leaves_nothing(journal):
    journal.append(entries(2))
    for bad, error in (
        ((learn(9), "key 1"), ReusedKey),
        ((learn(9), ""), RefusedRecord),
        ((learn(9), 3), RefusedRecord),
    ):
        with pytest.raises(error):
            journal.append([(learn(5), None), bad])
    assert journal.last == 2
    assert journal.append([(learn(5), None)]) == [Receipt(3, False)]


# -- idempotency keys ------------------------------------------------------------------------------


def test_a_key_stands_for_one_record(journal):
    journal.append([(learn(1), "k")])
    assert journal.append([(learn(1), "k"), (learn(2), "m"), (learn(2), "m")]) == [
        Receipt(1, True),
        Receipt(2, False),
        Receipt(2, True),
    ]
    assert journal.find(learn(2), "m") == 2
    assert journal.find(learn(2), "unknown") is None
    assert journal.find(learn(2), None) is None
    with pytest.raises(ReusedKey, match="'k' belongs to record 1, which has other content"):
        journal.append([(learn(3), "k")])
    with pytest.raises(ReusedKey, match="'n' was used for two records"):
        journal.append([(learn(3), "n"), (learn(4), "n")])
    assert numbers(journal) == [1, 2]


def test_a_key_outlives_its_record_and_dies_when_it_was_said_to(path, monkeypatch):
    with Journal.create(path, key_life=100) as journal:
        journal.append(entries(5))
        assert journal.compact(5) == 5
        assert journal.append(entries(5)) == [Receipt(i + 1, True) for i in range(5)]
        now = time.monotonic_ns()
        monkeypatch.setattr(time, "monotonic_ns", lambda: now + 99 * 10**9)
        journal.compact(5)
        assert journal.find(learn(0), "key 0") == 1
        monkeypatch.setattr(time, "monotonic_ns", lambda: now + 102 * 10**9)
        assert journal.find(learn(0), "key 0") is None
        assert journal.append([(learn(7), "key 0")]) == [Receipt(6, False)]
        journal.compact(5)
        assert journal._connection.execute("SELECT key FROM key").fetchall() == [(b"key 0",)]
        assert list(journal.damage()) == []


def test_a_clock_that_goes_back_does_not_kill_keys_or_order(path, monkeypatch):
    with Journal.create(path, key_life=100) as journal:
        journal.append(entries(1))
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now - 10**15)
        assert journal.append(entries(2)) == [Receipt(1, True), Receipt(2, False)]
        assert numbers(journal) == [1, 2]
        assert list(journal.damage()) == []


# -- one writer ------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_until_the_first_is_gone(journal, path):
    with pytest.raises(JournalInUse, match="already has a writer"):
        Journal(path, write=True)
    script = f"from abound.store.journal import Journal; Journal({str(path)!r}, write=True)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "JournalInUse" in run.stderr
    journal.append(entries(1))
    journal.close()
    with Journal(path, write=True) as second:
        assert second.append(entries(2)) == [Receipt(1, True), Receipt(2, False)]


# -- compaction ------------------------------------------------------------------------------------


def test_compaction_drops_records_and_keeps_the_chain(journal, path):
    journal.append([(Learn("x" * 5000, added=["a"]), None)] * 200)
    journal.append(entries(10))
    journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    assert journal.compact(150) == 150
    assert path.stat().st_size < size / 2
    assert journal.compact(150) == 0
    assert journal.compact(100) == 0
    assert (journal.base, journal.last) == (150, 210)
    assert numbers(journal, 150) == list(range(151, 211))
    assert numbers(journal, 100) == list(range(101, 211))  # older ones come from the archive
    assert numbers(journal, 0) == list(range(1, 211))
    assert journal.start == 0
    with pytest.raises(ValueError, match="up to its last record 210, got 211"):
        journal.compact(211)
    assert journal.compact(210) == 60
    assert list(journal.damage()) == []
    journal.close()
    with Journal(path, write=True) as again:
        assert again.append([(learn(1), None)]) == [Receipt(211, False)]
        assert numbers(again, 210) == [211]


# -- damage ----------------------------------------------------------------------------------------


def crash_image(source, target):
    """Copy a journal as a crash would leave it: without closing it."""
    target.mkdir()
    for file in source.parent.iterdir():
        if file.is_file() and not file.name.endswith(("-shm", ".lock")):
            shutil.copy(file, target / file.name)
    return target / source.name


def is_detected_or_harmless(path, expected):
    """Open a damaged journal for reading and for writing; return whether the damage was noticed."""
    noticed = 0
    for write in (False, True):
        try:
            with Journal(path, write=write) as journal:
                if list(journal.damage()):
                    noticed += 1
                    continue
                assert [(s.sequence, s.key, s.record) for s in journal.read(journal.base)] == expected
        except (DamagedJournal, JournalError):
            noticed += 1
    return noticed


def flipped(path, chance, n=1):
    raw = bytearray(path.read_bytes())
    for _ in range(n):
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    path.write_bytes(raw)


def cut(path, chance):
    raw = path.read_bytes()
    path.write_bytes(raw[: chance.randrange(len(raw))])


def torn(path, chance):
    raw = bytearray(path.read_bytes())
    start = chance.randrange(0, len(raw), 512)
    raw[start : start + 512] = bytes(len(raw[start : start + 512]))
    path.write_bytes(raw)


@pytest.mark.parametrize("repeats", [25, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", [flipped, cut, torn])
@pytest.mark.parametrize("where", ["journal.sqlite", "journal.sqlite-wal"])
def test_damage_is_detected_or_harmless(tmp_path, path, where, damage, repeats):
    with Journal.create(path) as journal:
        if where.endswith("-wal"):
            journal._connection.execute("PRAGMA wal_autocheckpoint=0")
        for start in range(0, 60, 6):
            journal.append(entries(6, start))
        if not where.endswith("-wal"):
            journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        expected = [(s.sequence, s.key, s.record) for s in journal.read()]
        whole = crash_image(path, tmp_path / "whole")
    shutil.copytree(whole.parent, tmp_path / "sound")
    assert is_detected_or_harmless(tmp_path / "sound" / path.name, expected) == 0
    noticed = 0
    for repeat in range(repeats):
        image = tmp_path / "image"
        shutil.copytree(whole.parent, image)
        damage(image / where, random.Random(repeat))
        noticed += is_detected_or_harmless(image / path.name, expected) > 0
        shutil.rmtree(image)
    assert noticed > repeats / 4  # the others hit bytes that are never read


def test_reading_says_which_record_is_damaged(journal, path):
    journal.append(entries(20))
    change = journal._connection.execute
    change("UPDATE record SET payload = replace(payload, 'text 6', 'text 8') WHERE sequence = 7")
    with pytest.raises(DamagedJournal, match=r"record 7 of .* does not match its checksum"):
        list(journal.read())
    change("DELETE FROM record WHERE sequence = 12")
    change("UPDATE key SET sequence = 3 WHERE key = CAST('key 15' AS BLOB)")
    found = list(journal.damage())
    assert [words for words in found if "record 7 " in words]
    assert [words for words in found if "record 12 of" in words and "missing; the next one is 13" in words]
    assert [words for words in found if "idempotency key b'key 15'" in words]
    with pytest.raises(DamagedJournal, match=r"b'key 15' .*does not match its checksum"):
        journal.find(learn(15), "key 15")
    journal.close()
    with pytest.raises(DamagedJournal, match="record 7 "):
        Journal(path, write=True)


@pytest.mark.parametrize("column", ["time", "key", "origin", "payload", "salt", "digest", "checksum"])
@pytest.mark.parametrize("value", ["NULL", "7", "0.5", "'text'", "x''"])
def test_a_column_of_another_type_is_damage(tmp_path, path, column, value):
    with Journal.create(path) as journal:
        journal.append([Entry(*entry, Origin("ann", "page")) for entry in entries(4)])
        journal._connection.execute("PRAGMA writable_schema=1")  # as a flipped bit does, past NOT NULL
        journal._connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'record'")
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE record SET {column} = {value} WHERE sequence = 2")  # noqa: S608
    connection.execute("PRAGMA writable_schema=1")
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'record'", (SCHEMA[1],))
    connection.commit()
    connection.close()
    with Journal(path) as journal:
        with pytest.raises(DamagedJournal, match="record 2 "):
            list(journal.read())
        assert "record 2 " in next(journal.damage())


def test_records_cannot_be_swapped_or_taken_from_elsewhere(journal):
    journal.append(entries(4))
    change = journal._connection.execute
    change("UPDATE record SET sequence = 9 WHERE sequence = 2")
    change("UPDATE record SET sequence = 2 WHERE sequence = 3")
    change("UPDATE record SET sequence = 3 WHERE sequence = 9")
    with pytest.raises(DamagedJournal, match="record 2 "):
        list(journal.read())


def test_a_record_of_another_journal_is_noticed(journal, tmp_path):
    with Journal.create(tmp_path / "other.sqlite") as other:
        for each in (journal, other):
            each.append([(learn(i), None) for i in range(4)])
        row = other._connection.execute("SELECT * FROM record WHERE sequence = 2").fetchone()
        journal._connection.execute("REPLACE INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        with pytest.raises(DamagedJournal, match=r"record 2 of .* does not match"):
            list(journal.read())


def test_a_lost_key_is_noticed(journal):
    journal.append(entries(4))
    journal._connection.execute("DELETE FROM key WHERE sequence = 3")
    assert [words for words in journal.damage() if "key of record 3 " in words and "is lost" in words]


def test_a_log_that_was_lost_is_noticed_by_the_commit_marker(tmp_path, journal, path):
    journal.append(entries(4))
    journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    journal.append(entries(4, 4))
    image = crash_image(path, tmp_path / "image")
    (image.parent / "journal.sqlite-wal").unlink()
    words = r"ends at record 4, but records 5 to 8 were acknowledged and are lost; remove journal.sqlite.head to accept"
    with pytest.raises(DamagedJournal, match=words):
        Journal(image, write=True)
    with Journal(image) as reader:
        assert [found for found in reader.damage() if "records 5 to 8" in found]
    (image.parent / "journal.sqlite.head").unlink()
    with Journal(image, write=True) as accepted:
        assert accepted.last == 4


def test_a_marker_that_is_missing_or_of_another_journal_says_nothing(tmp_path):
    marker = CommitMarker(tmp_path / "journal.sqlite.head")
    assert marker.read("one") == 0
    marker.write("one", 7)
    assert marker.read("one") == 7
    assert marker.read("other") == 0
    marker.close()


def test_what_is_no_journal_is_refused(tmp_path, path):
    with pytest.raises(JournalError, match="there is no such file"):
        Journal(path)
    path.write_bytes(b"")
    with pytest.raises(DamagedJournal, match="no such table"):
        Journal(path)
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(DamagedJournal, match="not a database"):
        Journal(path)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE x (y)")
    connection.close()
    with pytest.raises(JournalError, match="a new journal needs a new file"):
        Journal.create(other)


def test_a_journal_is_not_begun_anew_where_one_was_lost(journal, path):
    journal.append(entries(1))
    journal.close()
    path.unlink()
    with pytest.raises(JournalError, match="belongs to an older journal"):
        Journal.create(path)


# -- a full disk -----------------------------------------------------------------------------------


def test_a_full_disk_writes_nothing_and_may_have_room_again(journal):
    journal.append(entries(1))
    (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
    journal._connection.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(JournalUnavailable, match="full"):
        journal.append([(Learn("x" * 10_000, added=["a"]), "big")] * 2)
    assert (numbers(journal), journal.last) == ([1], 1)
    journal._connection.execute("PRAGMA max_page_count=100000")
    assert journal.append([(Learn("x" * 10_000, added=["a"]), "big")]) == [Receipt(2, False)]
    assert list(journal.damage()) == []


def test_a_file_that_may_not_grow_writes_nothing(journal, path):
    resource = pytest.importorskip("resource")
    journal.append(entries(1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = path.with_name(path.name + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5000, before[1]))
    try:
        for _ in range(2):
            with pytest.raises(JournalUnavailable):
                journal.append([(Learn("x" * 100_000, added=["a"]), "big")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert numbers(journal) == [1]
    assert journal.append([(Learn("x" * 100_000, added=["a"]), "big")]) == [Receipt(2, False)]
    assert list(journal.damage()) == []


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8) | st.none()), max_size=5), max_size=6))
def test_any_groups_give_each_key_once(tmp_path_factory, groups):
    kept, order = {}, []
    with Journal.create(tmp_path_factory.mktemp("journal") / "journal.sqlite") as journal:
        for group in groups:
            wanted = [(learn(number), None if key is None else str(key)) for number, key in group]
            named = dict(kept)
            clash = any(named.setdefault(key, record) != record for record, key in wanted if key is not None)
            if clash:
                with pytest.raises(ReusedKey):
                    journal.append(wanted)
                continue
            for record, key in wanted:
                if key is None or key not in kept:
                    order.append(record)
                if key is not None:
                    kept[key] = record
            journal.append(wanted)
        assert [stored.record for stored in journal.read()] == order
        assert list(itertools.islice(journal.damage(), 1)) == []
