"""Copies of a journal in PostgreSQL, on several machines: equal rows, whoever appends."""

import threading

import pytest

from abound.errors import (
    CompactedAway,
    DamagedJournal,
    JournalError,
    JournalMoved,
    JournalUnavailable,
    LostRecords,
    ReusedKey,
)
from abound.store.journal import Entry, Journal, Receipt
from abound.store.journal.records import Forget, Forgotten, Undo
from tests.store.test_journals import entries, learn

pytest.importorskip("psycopg")
postgres = pytest.importorskip("abound.store.journal.postgres")
shared = pytest.importorskip("abound.store.journal.shared")


class Machines:
    """Copies in directories of several machines."""

    def __init__(self, database, folder):
        self._database, self._folder = database, folder

    def new(self, name, after=0):
        path = self._folder / f"{name}.sqlite"
        with postgres.PostgresJournal(self._database.url) as one:
            shared.copy_database(path, one, after)
        return self.open(name)

    def open(self, name):
        return shared.SharedJournal(self._folder / f"{name}.sqlite", self._database.url)

    def path(self, name):
        return self._folder / f"{name}.sqlite"


@pytest.fixture
def machines(database, tmp_path):
    database.create().close()
    return Machines(database, tmp_path)


def rows(journal):
    return list(journal.rows(journal.start))


def test_copies_have_the_same_rows_and_keys(machines):
    with machines.new("a") as a, machines.new("b") as b:
        assert a.append(entries(3)) == [Receipt(i, False) for i in (1, 2, 3)]
        with pytest.raises(JournalMoved):
            b.append(entries(1, start=5))
        with b.turn():
            assert b.find(learn(1), "key 1") == 2
            assert b.append([(learn(1), "key 1"), (learn(7), "key 7")]) == [Receipt(2, True), Receipt(4, False)]
            with pytest.raises(ReusedKey):
                b.append([(learn(8), "key 7")])
        assert a.wait(5)
        assert a.pull() == 4
        assert rows(a) == rows(b)
        assert a.last_time == b.last_time
        with machines.new("c", after=3) as c:
            assert rows(c) == rows(a)[3:]
            assert c.find(learn(1), "key 1") == 2  # the key of a record that it does not have
            with pytest.raises(CompactedAway):
                list(c.read(0))
        for journal in (a, b):
            assert list(journal.damage()) == []


def test_turns_exclude_each_other(machines):
    problems, n_groups = [], 15

    def run(name):
        try:
            with machines.open(name) as journal:
                for group in range(n_groups):
                    with journal.turn():
                        before = journal.last
                        receipts = journal.append([(learn(f"{name} {group} {i}"), None) for i in range(5)])
                        assert [receipt.sequence for receipt in receipts] == list(range(before + 1, before + 6))
        except Exception as error:
            problems.append(error)

    names = ("a", "b", "c")
    for name in names:
        machines.new(name).close()
    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    found = []
    for name in names:
        with machines.open(name) as journal:
            journal.pull()
            assert list(journal.damage()) == []
            found.append(rows(journal))
    assert len(found[0]) == 3 * 5 * n_groups
    assert found[0] == found[1] == found[2]


def test_records_that_a_power_failure_removed_from_a_copy_are_copied_again(machines):
    with machines.new("a") as a:
        a.append(entries(3))
    before = machines.path("a").read_bytes()
    with machines.open("a") as a, machines.new("b") as b:
        a.append(entries(3, start=3))
        with b.turn():
            b.append(entries(3, start=6))
        a.pull()
    machines.path("a").write_bytes(before)  # its log is merged and removed when it is closed
    with machines.open("a") as a, machines.open("b") as b:
        assert a.last == 9
        assert rows(a) == rows(b)
        assert list(a.damage()) == []


def test_a_database_with_a_changed_record_is_not_copied(machines, database):
    with machines.new("a") as a, machines.new("b") as b:
        a.append(entries(3))
        database.change("UPDATE record SET payload = %s WHERE sequence = 2", b"{}")
        with pytest.raises(DamagedJournal, match=r"record 2 .* does not match its checksum"):
            b.pull()
        with pytest.raises(DamagedJournal, match=r"record 2 .* does not match its checksum"), b.turn():
            pass
        assert b.last == 0
        with a.turn():  # b has not kept the lock
            pass


def test_many_records_are_copied_in_pages(machines, database):
    with machines.new("a") as a, machines.new("b") as b:
        a.append(entries(1200))
        with b.turn():
            assert b.last == 1200
            b.append(entries(1, start=2000))
        assert rows(b)[:1200] == rows(a)
        assert b.find(learn(1100), "key 1100") == 1101
        assert list(b.damage()) == []


def test_forgotten_content_leaves_all_copies(machines):
    with machines.new("a") as a, machines.new("b") as b:
        a.append(entries(5))
        b.pull()
        a.forget(Entry(Forget((2, 4), "before", "after"), None))
        a.erase()
        b.pull()
        b.erase()
        for journal in (a, b):
            found = [isinstance(stored.record, Forgotten) for stored in journal.read(0)]
            assert found == [False, True, False, True, False, False]
            assert list(journal.damage()) == []
        a.append([(Undo((1,)), None)])
        b.pull()
        assert a.lineage() == b.lineage()
    for name in ("a", "b"):
        assert b"text 1" not in machines.path(name).read_bytes()


def test_a_copy_of_another_journal_is_refused(machines, tmp_path, cluster):
    with machines.new("a") as journal:
        for identity in ("0" * 16, "f" * 16):
            Journal.write_copy(machines.path(identity), journal.meta._replace(id=identity), (), journal)
            with pytest.raises(JournalError, match="another journal than"):
                machines.open(identity)


def test_a_database_that_lost_what_a_copy_has_is_refused(machines, database):
    with machines.new("a") as journal:
        journal.append(entries(5))
    database.change("DELETE FROM record WHERE sequence > 2")
    with machines.open("a") as journal:  # it can be read
        assert journal.last == 5
        message = f"ends at record 2, and has lost the records 3 to 5; save .* export {journal.path.parent} --after 2"
        with pytest.raises(LostRecords, match=message):
            journal.pull()
        with postgres.PostgresJournal(database.url) as one:
            one.append(entries(4, start=10))
        with pytest.raises(LostRecords, match="have different records after record 2"):
            journal.wait(0.1)


def test_a_connection_that_finds_a_loss_says_which_records_are_lost(machines, database):
    with machines.new("a") as journal:
        journal.append(entries(5))
        database.change("DELETE FROM record WHERE sequence > 3")
        database.change(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database()"
        )
        with pytest.raises(JournalUnavailable):
            journal.pull()
        with pytest.raises(LostRecords, match="has lost record 5"):
            journal.pull()
        with pytest.raises(LostRecords, match="has lost the records 4 to 5"):
            journal.pull()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://me:p@ss@127.0.0.1/d", "must be encoded: write %40 for @"),
        ("postgresql://me:s3cret@127.0.0.1/d?sslmod=off", "is not the URL of a database: .*sslmod"),
    ],
)
def test_a_wrong_url_is_said_without_its_password(url, message):
    with pytest.raises(JournalError, match=message) as raised:
        postgres.PostgresJournal(url)
    assert "ss@" not in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_tables_of_something_else_are_said(database):
    database.change("CREATE TABLE record (a integer)")
    database.change("CREATE TABLE meta (a integer)")
    with pytest.raises(JournalError, match="tables of something else"):
        postgres.PostgresJournal(database.url)
    with pytest.raises(JournalError, match="tables of something else"):
        postgres.PostgresJournal.create(database.url)


def test_a_local_journal_fills_a_database(database, tmp_path):
    with Journal.create(tmp_path / "local.sqlite") as local:
        local.append(entries(10))
        local.append([(Undo((3,)), None)])
        local.skip(5, "because")
        local.compact(7)
        with shared.fill_database(database.url, local) as remote:
            assert list(remote.rows(0)) == list(local.rows(0))
            assert remote.lineage() == local.lineage()
            assert remote.find(learn(2), "key 2") == 3
            assert list(remote.damage()) == []
    with shared.SharedJournal(tmp_path / "local.sqlite", database.url) as again:
        assert again.append(entries(1, start=20)) == [Receipt(12, False)]
        assert list(again.damage()) == []


def test_a_journal_without_records_fills_a_database_with_its_keys_and_undone_records(database, tmp_path):
    with Journal.create(tmp_path / "local.sqlite") as local:
        local.append([*entries(5), (Undo((3,)), None)])
        local.compact(6)
        local.retain(6)
        assert list(local.rows(local.start)) == []
        with shared.fill_database(database.url, local) as remote:
            assert remote.find(learn(2), "key 2") == local.find(learn(2), "key 2") == 3
            assert remote.lineage() == local.lineage()
            assert remote.lineage().excluded == (3,)
            assert list(remote.damage()) == []


def test_a_turn_fails_while_the_database_is_away(machines, cluster):
    with machines.new("a") as journal:
        journal.append(entries(2))
        cluster.stop()
        try:
            with pytest.raises(JournalUnavailable), journal.turn():
                pass
            assert [stored.sequence for stored in journal.read(0)] == [1, 2]  # the copy is still read
        finally:
            cluster.start()
        with journal.turn():
            assert journal.append(entries(1, start=5)) == [Receipt(3, False)]


def test_a_copy_is_opened_while_the_database_is_away_and_only_its_server_writes_to_it(machines, cluster):
    with machines.new("a") as journal:
        journal.append(entries(2))
    with pytest.raises(JournalError, match=r"is a copy of the journal in postgresql://127.0.0.1"):
        Journal(machines.path("a"), write=True)
    with Journal(machines.path("a")) as reader:
        assert reader.last == 2
    cluster.stop()
    try:
        journal = machines.open("a")
        assert [stored.sequence for stored in journal.read(0)] == [1, 2]
        with pytest.raises(JournalUnavailable):
            journal.append(entries(1, start=5))
    finally:
        cluster.start()
    with journal, journal.turn():
        assert journal.append(entries(1, start=5)) == [Receipt(3, False)]


def test_a_skip_and_its_reason_come_into_all_copies(machines, database):
    with machines.new("a") as a, machines.new("b") as b:
        a.append(entries(3))
        a.skip(2, "because")
        b.pull()
        b.pull()
        assert a.skips() == b.skips()
        assert b.skips()[2].reason == "because"
        with postgres.PostgresJournal(database.url) as one:
            one.skip(3)
        assert a.lineage().excluded == (2,)
        a.pull()
        assert a.lineage().excluded == (2, 3)
        assert list(a.damage()) == []


def test_records_about_others_are_prepared_before_they_are_copied(machines, database):
    seen = []
    machines.new("b").close()
    with (
        machines.new("a") as a,
        shared.SharedJournal(
            machines.path("b"), database.url, prepare=lambda control: seen.append((control, b.last))
        ) as b,
    ):
        a.append(entries(2))
        a.append([(Undo((1,)), None)])
        b.pull()
        assert seen == [(Undo((1,)), 0)]


def test_the_url_decides_about_timeouts_and_erasing_may_take_long(database):
    url = f"{database.url}?connect_timeout=7&options=-c%20statement_timeout%3D21s"
    with database.create() as one:
        one.append(entries(3))
    with postgres.PostgresJournal(url) as one:
        connection = one._database.connection()
        assert connection.info.get_parameters()["connect_timeout"] == "7"
        assert connection.execute("SHOW statement_timeout").fetchone() == ("21s",)
        assert connection.execute("SHOW lock_timeout").fetchone() == ("10s",)
        connection.execute("SET statement_timeout = '1s'")
        with postgres.PostgresJournal(url) as other:
            other._database.run("BEGIN")
            other._database.run("LOCK TABLE record IN ACCESS SHARE MODE")
            releasing = threading.Timer(2.5, other._database.run, ["COMMIT"])
            releasing.start()
            one.erase()  # waits for the lock
            releasing.join()
        assert connection.execute("SHOW statement_timeout").fetchone() == ("1s",)
