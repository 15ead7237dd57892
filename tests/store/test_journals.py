"""What every kind of journal does, in an SQLite file and in PostgreSQL."""

import contextlib
import re
import sqlite3
import threading
import time

import pytest

from abound.errors import (
    CompactedAway,
    DamagedJournal,
    JournalError,
    JournalMoved,
    JournalUnavailable,
    RefusedRecord,
    ReusedKey,
)
from abound.store.journal import Entry, Journal, Lineage, Origin, Receipt, clock
from abound.store.journal import database as session_settings
from abound.store.journal import journal as journals
from abound.store.journal.records import Forget, Forgotten, Learn, Undo
from tests.store.postgres import PostgresJournals, programs

psycopg = pytest.importorskip("psycopg")
postgres = pytest.importorskip("abound.store.journal.postgres")
KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(programs() is None, reason="needs PostgreSQL"))]


class Sqlite:
    """Journals in SQLite files."""

    def __init__(self, folder):
        self.path = folder / "journal.sqlite"

    def create(self, **options):
        return Journal.create(self.path, **options)

    def open(self):
        return Journal(self.path, write=True)

    def read(self):
        return Journal(self.path)

    def change(self, statement, *values):
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(statement.replace("%s", "?"), values)


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    return (
        Sqlite(tmp_path)
        if request.param == "sqlite"
        else PostgresJournals(request.getfixturevalue("cluster"), tmp_path)
    )


def learn(number):
    return Learn(f"text {number}", added=[f"label {number}"])


def entries(n, start=0):
    return [(learn(i), f"key {i}") for i in range(start, start + n)]


def numbers(journal, after=0):
    return [(stored.sequence, stored.record.text) for stored in journal.read(after)]


def test_groups_are_read_in_order_from_any_sequence(kind):
    with kind.create() as journal:
        assert journal.last == 0
        assert [receipt.sequence for receipt in journal.append(entries(3))] == [1, 2, 3]
        journal.append([Entry(learn(3), None, Origin("someone", "page"))])
        expected = [(i + 1, f"text {i}") for i in range(4)]
        assert [numbers(journal, after) for after in range(5)] == [expected[after:] for after in range(5)]
        (stored,) = journal.read(3)
        assert (stored.who, stored.source, stored.key) == ("someone", "page", None)
        assert journal.last == 4
        assert list(journal.damage()) == []
    with kind.open() as journal:
        assert numbers(journal) == expected
        journal.append(entries(1200, start=10))
        assert [number for number, _ in numbers(journal)] == list(range(1, 1205))
        assert list(journal.damage()) == []


def test_a_key_stands_for_one_record(kind):
    with kind.create() as journal:
        first = journal.append([(learn(1), "a"), (learn(1), "a"), (learn(2), "b")])
        assert first == [Receipt(1, False), Receipt(1, True), Receipt(2, False)]
        assert journal.append([(learn(2), "b"), (learn(3), "c")]) == [Receipt(2, True), Receipt(3, False)]
        assert (journal.find(learn(2), "b"), journal.find(learn(2), "z"), journal.find(learn(2), None)) == (
            2,
            None,
            None,
        )
        with pytest.raises(ReusedKey, match="belongs to record 2"):
            journal.append([(learn(4), "d"), (learn(9), "b")])
        with pytest.raises(ReusedKey, match="two records"):
            journal.append([(learn(4), "d"), (learn(5), "d")])
        assert journal.last == 3  # the whole group was refused
        sent = Learn("text 7", added=["name"])
        assert journal.append([Entry(learn(7), "e", sent=sent)]) == [Receipt(4, False)]
        assert journal.find(sent, "e") == 4
        with pytest.raises(RefusedRecord, match="idempotency key"):
            journal.append([(learn(1), "k" * 300)])


def test_a_key_expires_and_not_earlier(kind, monkeypatch):
    now = 1_700_000_000_000_000

    def times(passed):
        for module in (clock, journals, postgres):
            monkeypatch.setattr(module, "wall_time", lambda: now + passed * 1_000_000)

    times(0)
    with kind.create(key_life=100) as journal:
        journal.append([(learn(1), "a")])
    for passed in range(10, 91, 10):  # a journal trusts the wall clock within limits
        times(passed)
        with kind.open() as journal:
            journal.append([(learn(passed), None)])
            assert journal.find(learn(1), "a") == 1
    for passed in range(110, 160, 10):
        times(passed)
        with kind.open() as journal:
            journal.append([(learn(passed), None)])
            journal.compact(journal.last)
    with kind.open() as journal:
        assert journal.find(learn(1), "a") is None
        assert list(journal.damage()) == []
        assert journal.append([(learn(2), "a")]) == [Receipt(journal.last, False)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE record SET payload = %s WHERE sequence = 5", "record 5 .* does not match its checksum"),
        ("UPDATE record SET time = 5 WHERE sequence = 5 AND %s IS NOT NULL", "record 5 .* does not match"),
        ("DELETE FROM record WHERE sequence = 5 AND %s IS NOT NULL", "record 5 .* is missing"),
        ("DELETE FROM key WHERE sequence = 5 AND %s IS NOT NULL", "key of record 5 .* is lost"),
        ("UPDATE key SET digest = %s WHERE sequence = 5", "does not match its checksum"),
    ],
)
def test_damage_is_noticed(kind, statement, message):
    with kind.create() as journal:
        journal.append(entries(10))
    kind.change(statement, b"other")
    with kind.read() as journal:
        found = list(journal.damage())
        assert any(re.search(message, line) for line in found), found


def test_a_record_of_another_place_breaks_the_chain(kind):
    with kind.create() as journal:
        journal.append(entries(10))
    for old, new in ((3, 99), (4, 3), (99, 4)):
        kind.change("UPDATE record SET sequence = %s WHERE sequence = %s", new, old)
    with kind.read() as journal, pytest.raises(DamagedJournal, match="record 3"):
        list(journal.read(0))


def test_records_that_were_acknowledged_and_lost_are_noticed_by_the_commit_marker(kind):
    with kind.create() as journal:
        journal.append(entries(10))
    kind.change("DELETE FROM record WHERE sequence > 8")
    kind.change("DELETE FROM key WHERE sequence > 8")
    with pytest.raises(DamagedJournal, match="records 9 to 10 were acknowledged and are lost"):
        kind.open()


def test_skips_and_undone_records_do_not_count(kind):
    with kind.create() as journal:
        journal.append(entries(5))
        journal.skip(2, "it cannot be applied")
        assert journal.skips()[2].reason == "it cannot be applied"
        for number, message in ((2, "already skipped"), (9, "cannot be skipped")):
            with pytest.raises(JournalError, match=message):
                journal.skip(number)
        journal.append([(Undo((3,)), None)])
        assert journal.lineage() == Lineage("", (2, 3))
        assert journal.lineage(5) == Lineage("", (2,))
        assert list(journal.damage()) == []
    with kind.open() as journal:
        assert journal.lineage() == Lineage("", (2, 3))


def test_a_forgotten_record_leaves_its_place(kind):
    with kind.create() as journal:
        journal.append(entries(5))
        assert journal.forget(Entry(Forget((2, 4), "before", "after"), "forget")).sequence == 6
        journal.erase()
        found = [stored.record for stored in journal.read(0)]
        assert [isinstance(record, Forgotten) for record in found] == [False, True, False, True, False, False]
        assert list(journal.damage()) == []
        with pytest.raises(ReusedKey, match="was forgotten"):
            journal.append([(learn(1), "key 1")])


def test_compaction_changes_nothing_that_is_read(kind):
    with kind.create() as journal:
        journal.append(entries(10))
        journal.compact(6)
        assert [number for number, _ in numbers(journal)] == list(range(1, 11))
        assert journal.append([(learn(1), "key 1")]) == [Receipt(2, True)]
        journal.retain(6)
        with pytest.raises(CompactedAway):
            list(journal.read(0))
        assert [number for number, _ in numbers(journal, 6)] == [7, 8, 9, 10]
        assert journal.start == 6
        assert journal.append([(learn(20), "key 20")]) == [Receipt(11, False)]
        assert list(journal.damage()) == []


def test_a_timeline_changes_the_token_and_not_the_journal(kind):
    with kind.create() as journal:
        before = journal.id, journal.token
        journal.start_timeline()
        assert journal.id == before[0]
        assert journal.token != before[1]
    with kind.open() as again:
        assert again.token == journal.token


# -- several servers -----------------------------------------------------------------------------------


def test_servers_that_append_at_once_agree_on_one_order(database):
    database.create().close()
    problems, receipts = [], []

    def append(server):
        try:
            with postgres.PostgresJournal(database.url) as journal:
                for group in range(20):
                    batch = [(learn(f"{server} {group} {i}"), f"{server} {group} {i}") for i in range(7)]
                    receipts.append([receipt.sequence for receipt in journal.append(batch)])
                    receipts.append([receipt.sequence for receipt in journal.append(batch)])  # repeated
        except Exception as error:
            problems.append(error)

    def follow():
        try:
            with postgres.PostgresJournal(database.url) as journal:
                seen = 0
                while seen < 4 * 20 * 7:
                    for stored in journal.read(seen):
                        assert stored.sequence == seen + 1  # no gap closes behind a reader
                        seen = stored.sequence
                    journal.wait(seen, 5)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=append, args=(server,)) for server in range(4)]
    threads += [threading.Thread(target=follow) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with database.open() as journal:
        assert journal.last == 4 * 20 * 7
        assert list(journal.damage()) == []
    assert sorted(number for group in receipts for number in group) == sorted([*range(1, 561), *range(1, 561)])
    assert all(group == list(range(group[0], group[0] + 7)) for group in receipts)


def test_nothing_is_appended_after_a_record_that_was_not_seen(database):
    with database.create() as journal, postgres.PostgresJournal(database.url) as other:
        journal.append(entries(2), after=0)
        with pytest.raises(JournalMoved, match="at record 2, and not at 1"):
            other.append(entries(1, start=5), after=1)
        assert other.append(entries(1, start=5), after=2) == [Receipt(3, False)]


def test_a_reader_is_woken_by_a_record_and_gives_up_in_time(database):
    with database.create() as journal, postgres.PostgresJournal(database.url) as other:
        assert not other.wait(0, 0.2)
        started = time.monotonic()
        threading.Timer(0.5, lambda: journal.append(entries(1))).start()
        assert other.wait(0, 60)
        assert time.monotonic() - started < 45


def test_a_listener_is_told_whether_it_missed_notifications(database):
    with session_settings.Database(database.url) as one:
        assert one.listen("news")  # those before it were missed
        assert not one.listen("news")
    away = session_settings.Database("postgresql://127.0.0.1:1/nowhere")
    with away, pytest.raises(JournalUnavailable, match="is unavailable"):
        away.listen("news")


def test_a_turn_that_the_database_has_ended_is_noticed(database):
    with database.create() as journal, journal.turn():
        journal.check_turn()
        database.change(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        for message in ("is unavailable", "has ended the turn"):
            with pytest.raises(JournalUnavailable, match=message):
                journal.check_turn()


def test_forgotten_content_leaves_the_files_of_the_database(cluster, database):
    def is_found():
        database.change("CHECKPOINT")
        files = (cluster.folder / "data" / "base").rglob("*")
        return any(b"an unspeakable text" in file.read_bytes() for file in files if file.is_file())

    with database.create() as journal:
        journal.append([(Learn("an unspeakable text", added=["a"]), "key")])
        journal.forget(Entry(Forget([1], "before", "after")))
        assert is_found()
        journal.erase()
        assert not is_found()


def test_a_database_with_its_usual_settings_has_no_risks(database):
    with database.create() as journal:
        assert journal.risks() == []


def test_a_database_that_is_away_is_unavailable_and_comes_back(cluster, database):
    with database.create() as journal:
        journal.append(entries(3))
        cluster.stop()
        try:
            for call in (lambda: journal.append(entries(1, start=9)), lambda: journal.wait(3, 1), lambda: journal.last):
                with pytest.raises(JournalUnavailable, match="is unavailable"):
                    call()
            with pytest.raises(JournalUnavailable):
                database.open()
        finally:
            cluster.start()
        assert journal.append(entries(1, start=9)) == [Receipt(4, False)]
        assert journal.wait(3, 1)


def test_a_database_that_lost_records_is_refused_after_a_reconnection(cluster, database):
    with database.create() as journal:
        journal.append(entries(3))
        database.change("DELETE FROM record WHERE sequence = 3")
        cluster.stop()
        cluster.start()
        with pytest.raises(JournalUnavailable):  # the old connection
            journal.append(entries(1, start=9))
        with pytest.raises(DamagedJournal, match="has lost record 3"):
            journal.append(entries(1, start=9))


def test_a_server_that_hangs_does_not_keep_the_others_waiting(database, monkeypatch):
    monkeypatch.setitem(session_settings.SESSION, "idle_in_transaction_session_timeout", "1s")
    with database.create() as journal, postgres.PostgresJournal(database.url) as other:
        with contextlib.suppress(psycopg.Error), journal._writing():
            assert other.append(entries(1)) == [Receipt(1, False)]  # when the first one was ended by the database
        assert journal.last == 1


def test_a_second_journal_in_a_database_is_refused(database):
    with database.create(), pytest.raises(JournalError, match="has a journal already"):
        postgres.PostgresJournal.create(database.url)


def test_a_database_without_a_journal_is_refused(database):
    with pytest.raises(JournalError, match="has no journal"):
        database.open()


def test_a_server_that_hangs_while_it_appends_does_not_keep_the_others_waiting(database, monkeypatch):
    monkeypatch.setitem(session_settings.SESSION, "idle_in_transaction_session_timeout", "1s")
    make_group = postgres.make_group
    with database.create() as journal, postgres.PostgresJournal(database.url) as other:

        def hang(*arguments):
            monkeypatch.setattr(postgres, "make_group", make_group)
            assert other.append(entries(1)) == [Receipt(1, False)]  # when the first one was ended by the database
            return make_group(*arguments)

        monkeypatch.setattr(postgres, "make_group", hang)
        with pytest.raises(JournalUnavailable):
            journal.append(entries(1, start=5))
        assert numbers(journal) == [(1, "text 0")]


def test_a_password_is_in_no_message(cluster):
    url = f"postgresql://abound:geheim@127.0.0.1:{cluster.port}/nowhere"
    with pytest.raises(JournalUnavailable) as caught:
        postgres.PostgresJournal(url)
    assert "geheim" not in str(caught.value)


def test_a_lease_has_one_holder_until_it_expires_or_is_released(database):
    with database.create() as one, database.open() as two:
        assert one.hold("snapshots", "a", 60)
        assert one.hold("snapshots", "a", 60)  # extended
        assert not two.hold("snapshots", "b", 60)
        assert two.hold("other", "b", 60)
        two.release("snapshots", "b")  # not b's
        assert not two.hold("snapshots", "b", 60)
        one.release("snapshots", "a")
        assert two.hold("snapshots", "b", 0.5)
        assert not one.hold("snapshots", "a", 60)
        time.sleep(0.6)
        assert one.hold("snapshots", "a", 60)
        assert not two.hold("snapshots", "b", 60)


def test_a_lease_counts_from_its_last_extension(database):
    with database.create() as one, database.open() as two:
        assert one.hold("snapshots", "a", 0.4)
        assert one.hold("snapshots", "a", 60)
        time.sleep(0.5)
        assert not two.hold("snapshots", "b", 60)
        assert one.hold("snapshots", "a", 0.1)
        time.sleep(0.2)
        assert two.hold("snapshots", "b", 60)


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_of_several_that_compete_for_a_lease_one_gets_it(database, seconds):
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(database.create())
        others = [first, *(stack.enter_context(database.open()) for _ in range(3))]
        for round_ in range(10):
            if seconds is not None:  # an expired lease, not a free one
                assert first.hold(str(round_), "before", seconds)
            barrier, held = threading.Barrier(len(others)), []

            def compete(number, journal, name, barrier=barrier, held=held):
                barrier.wait(30)
                if journal.hold(name, str(number), 60):
                    held.append(number)

            threads = [
                threading.Thread(target=compete, args=(number, journal, str(round_)))
                for number, journal in enumerate(others)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            assert len(held) == 1
            assert [journal.hold(str(round_), str(n), 60) for n, journal in enumerate(others)] == [
                n == held[0] for n in range(len(others))
            ]


def test_a_base_has_one_state_hash(database):
    with database.create() as one, database.open() as two:
        assert one.base_hash("") is None
        one.note_base("", "abc")
        two.note_base("", "abc")
        two.note_base("refit", "def")
        assert (one.base_hash(""), one.base_hash("refit"), one.base_hash("other")) == ("abc", "def", None)
        with pytest.raises(JournalError, match=r"first model of .* has the state hash abc, and not def"):
            two.note_base("", "def")
        with pytest.raises(JournalError, match=r"model 'refit' of .* has the state hash def"):
            two.note_base("refit", "abc")
        assert one.base_hash("") == "abc"
