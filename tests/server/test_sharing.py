"""Several machines with one journal in PostgreSQL: each of them learns, and all have the same state."""

import threading
import time

import pytest

from abound import Tagger
from abound.errors import JournalError, JournalUnavailable, ModelError, RefusedRecord
from abound.server import Home, Writer
from abound.server.backups import back_up, restore
from abound.server.sharing import DatabaseSharing
from abound.server.writer import APPLIED_IN_TURN
from abound.store.journal import Journal
from abound.store.journal.records import AddLabel, Forget, Learn, Refit, RenameLabel, RetireLabel, Undo
from abound.store.places import open_place
from tests.server.streams import base, stream, trained
from tests.server.test_undo import all_bytes
from tests.store.conftest import cluster, database  # noqa: F401  fixtures

psycopg = pytest.importorskip("psycopg")
joining = pytest.importorskip("abound.server.joining")
postgres = pytest.importorskip("abound.store.journal.postgres")
RECORDS = stream(40)
CONTENT = "an unspeakable xylophone"


class Machines:
    """Homes of several machines, in directories of a folder."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder
        self.model = folder / "model"
        self.place = str(folder / "place")
        self.messages = []
        base().save(self.model)

    def join(self, name, *, with_place=True, model="given"):
        return joining.join(
            self.folder / name,
            self.url,
            model=self.model if model == "given" else model,
            place=open_place(self.place) if with_place else None,
            report=self.messages.append,
        )

    def start(self, name, *, with_place=True, **options):
        sharing = DatabaseSharing(self.url, open_place(self.place) if with_place else None)
        home = self.join(name, with_place=with_place)
        return Writer(home, sharing=sharing, report=self.messages.append, **options)

    def turns(self):
        """Return how many machines have a turn."""
        with psycopg.connect(self.url) as connection:
            query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            return connection.execute(query).fetchone()[0]


@pytest.fixture
def machines(database, tmp_path):  # noqa: F811
    return Machines(database.url, tmp_path)


def until(condition, seconds=30):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


def assert_same(*writers):
    last = max(writer.journal.last for writer in writers)
    until(lambda: all(writer.replica.sequence >= last for writer in writers))
    assert len({(writer.replica.sequence, writer.replica.state_hash()) for writer in writers}) == 1


def test_every_machine_learns_and_all_have_the_same_state(machines):
    with machines.start("a") as a, machines.start("b") as b, machines.start("c") as c:
        for number, record in enumerate(RECORDS, 1):
            receipt = (a, b, c)[number % 3].submit(record, f"key {number}").result(30)
            assert (receipt.sequence, receipt.repeated) == (number, False)
        assert_same(a, b, c)
        assert a.journal.last == len(RECORDS)
        assert a.replica.state_hash() == trained(RECORDS).state_hash()
        repeated = c.submit(RECORDS[5], "key 6").result(30)
        assert (repeated.sequence, repeated.repeated) == (6, True)
    for name in "abc":
        with Journal(machines.folder / name / "journal.sqlite") as journal:
            assert list(journal.damage()) == []
    with machines.start("b") as b:  # again, from its copy
        assert b.replica.state_hash() == trained(RECORDS).state_hash()


def test_machines_that_write_at_the_same_time_lose_and_repeat_nothing(machines):
    records = [Learn(f"apple number{i}", added=[f"label{i}"]) for i in range(240)]
    found = {}

    def teach(writers, numbers):
        for number in numbers:
            for writer in writers:  # the same key to all of them
                receipt = writer.submit(records[number], f"key {number}").result(60)
                found.setdefault(number, set()).add(receipt.sequence)

    with machines.start("a") as a, machines.start("b") as b, machines.start("c") as c:
        orders = [(a, b), (b, c), (c, a), (a, c), (b, a), (c, b)]
        threads = [threading.Thread(target=teach, args=(order, range(i, 240, 6))) for i, order in enumerate(orders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == list(range(240))
        assert all(len(sequences) == 1 for sequences in found.values())
        assert sorted(sequence for (sequence,) in found.values()) == list(range(1, 241))
        assert_same(a, b, c)
        by_sequence = {sequence: number for number, (sequence,) in found.items()}
        in_order = [records[by_sequence[sequence]] for sequence in range(1, 241)]
        assert a.replica.state_hash() == trained(in_order).state_hash()


def test_a_record_is_checked_against_the_labels_of_all_machines(machines):
    with machines.start("a", closed=True) as a, machines.start("b", closed=True) as b:
        with pytest.raises(RefusedRecord, match="not known"):
            b.submit(Learn("boats", added=["ship"])).result(30)
        a.submit(AddLabel("ship")).result(30)
        b.submit(Learn("boats", added=["ship"])).result(30)
        a.submit(RenameLabel("ship", "vessel")).result(30)
        a.submit(RetireLabel("vessel")).result(30)
        with pytest.raises(RefusedRecord, match="is retired"):
            b.submit(Learn("boats", added=["ship"])).result(30)
        assert_same(a, b)


@pytest.mark.parametrize("with_place", [True, False])
def test_an_undo_reaches_all_machines_also_when_two_undo_at_once(machines, with_place):
    with machines.start("a", with_place=with_place) as a, machines.start("b", with_place=with_place) as b:
        for record in RECORDS:
            a.submit(record).result(30)
        answers = [a.change(Undo([2])), b.change(Undo([13])), a.change(Undo([24])), b.change(Undo([30]))]
        assert sorted(answer.result(60).sequence for answer in answers) == [41, 42, 43, 44]
        assert_same(a, b)
        kept = [record for number, record in enumerate(RECORDS, 1) if number not in (2, 13, 24, 30)]
        assert b.replica.state_hash() == trained(kept).state_hash()
        with pytest.raises(RefusedRecord, match="does not count already"):
            b.change(Undo([2])).result(60)
        assert a.home.snapshots()
        b.submit(Learn("a late apple", added=["fruit"])).result(30)
        assert_same(a, b)


def test_forgotten_content_leaves_all_machines_and_the_place(machines):
    with machines.start("a", snapshot_every=5) as a, machines.start("b", snapshot_every=5) as b:
        for record in RECORDS[:12]:
            a.submit(record).result(30)
        secret = b.submit(Learn(CONTENT, added=["fruit"])).result(30).sequence
        for record in RECORDS[:6]:
            b.submit(Learn(f"again {record}", added=["fruit"])).result(30)
        until(lambda: 15 in a.home.snapshots() and 15 in b.home.snapshots())
        place = open_place(machines.place)
        names = place.names(f"{a.journal.id}/snapshots")
        until(lambda: any("00015-" in name for name in place.names(f"{a.journal.id}/snapshots")))
        a.change(Forget([secret])).result(60)
        assert_same(a, b)
        until(lambda: b"xylophone" not in all_bytes(a.home) + all_bytes(b.home))
        until(lambda: not any("00015-" in one for one in place.names(f"{a.journal.id}/snapshots")) or names == [])
    assert b"xylophone" not in b"".join(p.read_bytes() for p in (machines.folder / "place").rglob("*") if p.is_file())


def test_a_refit_reaches_all_machines_by_the_place(machines):
    with machines.start("a") as a, machines.start("b") as b:
        for record in RECORDS[:10]:
            b.submit(record).result(30)
        new = Tagger().fit(["a green pear", "an old lorry"], [["fruit"], ["vehicle", "sport"]])
        new.save(a.home.base_path("0123456789abcdef"))
        a.change(Refit("0123456789abcdef")).result(60)
        assert_same(a, b)
        assert b.replica.lineage.base == "0123456789abcdef"
        with machines.start("c") as c:  # a new machine
            assert_same(a, b, c)


def test_a_refit_without_a_place_is_refused(machines):
    with machines.start("a", with_place=False) as a:
        base().save(a.home.base_path("0123456789abcdef"))
        with pytest.raises(RefusedRecord, match="--snapshots"):
            a.change(Refit("0123456789abcdef")).result(60)
        assert a.journal.last == 0


def test_while_the_database_is_away_machines_rank_and_do_not_learn(machines, cluster):  # noqa: F811
    with machines.start("a") as a, machines.start("b") as b:
        a.submit(Learn("an apple pie", added=["cake"])).result(30)
        assert_same(a, b)
        cluster.stop("immediate")
        try:
            started = time.monotonic()
            with pytest.raises(JournalUnavailable):
                a.submit(Learn("boats", added=["ship"]), "key").result(30)
            until(lambda: a.sharing.failure is not None and b.sharing.failure is not None)
            with pytest.raises(JournalUnavailable):
                b.submit(Learn("boats", added=["ship"]), "key").result(1)  # at once
            assert time.monotonic() - started < 20
            assert a.replica.rank("apple pie")[0].label == "cake"
            with pytest.raises(JournalUnavailable):
                machines.join("c")
        finally:
            cluster.start()
        until(lambda: a.sharing.failure is None and b.sharing.failure is None)
        assert b.submit(Learn("boats", added=["ship"]), "key").result(30).sequence == 2
        assert a.submit(Learn("boats", added=["ship"]), "key").result(30)[:2] == (2, True)
        assert_same(a, b)
    assert any("nothing is learned until" in message for message in machines.messages)
    assert any("can be used again" in message for message in machines.messages)


def test_a_machine_that_starts_while_the_database_is_away_ranks_and_learns_later(machines, cluster):  # noqa: F811
    with machines.start("a") as a:
        a.submit(Learn("an apple pie", added=["cake"])).result(30)
    cluster.stop("immediate")
    try:
        a = machines.start("a")
        assert a.replica.rank("apple pie")[0].label == "cake"
        with pytest.raises(JournalUnavailable):
            a.submit(Learn("boats", added=["ship"])).result(30)
    finally:
        cluster.start()
    with a:
        until(lambda: a.sharing.failure is None)
        assert a.submit(Learn("boats", added=["ship"])).result(30).sequence == 2


def test_a_new_machine_begins_with_the_newest_snapshot_of_the_place(machines):
    with machines.start("a", snapshot_every=10) as a:
        for record in RECORDS[:-1]:
            a.submit(record).result(30)
        place = open_place(machines.place)
        unfinished = machines.folder / "place" / a.journal.id / "snapshots" / "00000000000000000033-x-y"
        unfinished.mkdir(parents=True)
        (unfinished / "array.npy").touch()
        a.submit(RECORDS[-1]).result(30)
        until(lambda: any("00040-" in name for name in place.names(f"{a.journal.id}/snapshots")))
        until(lambda: not unfinished.exists())
        home = machines.join("b", model=None)
        assert home.snapshots() == [0, 40]
        assert any("the snapshot of record 40" in message for message in machines.messages)
        with machines.start("b") as b:
            assert_same(a, b)
            b.change(Undo([3])).result(60)  # from the first snapshot
            assert_same(a, b)
    assert len(place.names(f"{a.journal.id}/snapshots")) <= 2


def test_a_new_machine_without_a_place_begins_with_the_model(machines, tmp_path):
    with machines.start("a", with_place=False) as a:
        for record in RECORDS:
            a.submit(record).result(30)
        with machines.start("b", with_place=False) as b:
            assert_same(a, b)
        Tagger().fit(["other"], [["model"]]).save(tmp_path / "other")
        for with_place in (False, True):
            with pytest.raises(ModelError, match="is not the model that the records of postgresql://"):
                machines.join("c", with_place=with_place, model=tmp_path / "other")
        with pytest.raises(ModelError, match="name the model"):
            machines.join("d", with_place=False, model=None)
        (tmp_path / "f").mkdir()
        for name in ("keys.json", "queues.sqlite"):  # of a home that it replaces
            (tmp_path / "f" / name).touch()
        assert machines.join("f", with_place=False).snapshots() == [0]
        (tmp_path / "e").mkdir()
        (tmp_path / "e" / "letter").touch()
        with pytest.raises(FileExistsError, match="not empty"):
            machines.join("e")


def test_a_home_of_one_machine_moves_to_a_database_and_back(machines, tmp_path):
    home = Home.create(tmp_path / "a", base(), origin=str(Tagger.load(machines.model).state_hash()))
    with Writer(home) as writer:
        for number, record in enumerate(RECORDS):
            writer.submit(record, f"key {number}").result(30)
        writer.change(Undo([2])).result(60)
    with machines.start("a") as a, machines.start("b") as b:
        assert_same(a, b)
        assert b.submit(RECORDS[7], "key 7").result(30)[:2] == (8, True)
        assert b.submit(Learn("boats", added=["ship"])).result(30).sequence == 42
        assert_same(a, b)
        state = a.replica.state_hash()
        back_up(a.home, tmp_path / "backup")
    with pytest.raises(JournalError, match="is a copy of the journal in postgresql://"):
        Writer(Home(tmp_path / "a"))
    restore(tmp_path / "backup", tmp_path / "alone")
    with Writer(Home(tmp_path / "alone")) as alone:
        assert alone.replica.state_hash() == state
        assert alone.submit(Learn("ships", added=["ship"])).result(30).sequence == 43


def test_a_home_of_another_journal_is_refused(machines, tmp_path):
    machines.start("a").close()
    Home.create(tmp_path / "b", base())
    with pytest.raises(JournalError, match="another journal than"):
        machines.start("b")


def test_a_skip_reaches_all_machines(machines):
    with machines.start("a") as a, machines.start("b") as b:
        for record in RECORDS[:6]:
            a.submit(record).result(30)
        assert_same(a, b)
        with postgres.PostgresJournal(machines.url) as journal:
            journal.skip(6, "a test")
        until(lambda: a.replica.lineage.excluded == (6,) == b.replica.lineage.excluded)
        assert_same(a, b)
        assert a.replica.state_hash() == trained(RECORDS[:5]).state_hash()


def test_a_group_is_begun_again_if_the_turn_was_lost(machines, monkeypatch):
    with machines.start("a") as a, machines.start("b") as b:
        lost = []
        append = a.journal.append

        def lose_turn(entries):
            if not lost:
                lost.append(b.journal.database.append([(Learn("in between", added=["fruit"]), "between")]))
            return append(entries)

        monkeypatch.setattr(a.journal, "append", lose_turn)
        assert a.submit(Learn("boats", added=["ship"])).result(30).sequence == 2
        assert_same(a, b)


def test_settings_of_the_database_that_may_lose_records_are_reported(machines):
    user, place = machines.url.rsplit("/", 1)
    machines.url = f"{user}/{place}?options=-c%20synchronous_commit%3Doff"
    with machines.start("a"):
        until(lambda: any("synchronous_commit is off" in message for message in machines.messages))
    machines.messages.clear()
    machines.url = f"{user}/{place}"
    with machines.start("a") as a:
        a.submit(Learn("boats", added=["ship"])).result(30)
        time.sleep(1.5)
    assert not any("synchronous_commit" in message for message in machines.messages)


def test_others_need_not_wait_while_a_machine_follows_an_undo(machines, monkeypatch):
    seen = []

    def catch_up(replica, journal, *arguments):
        if replica.lineage != journal.lineage().upto(replica.sequence):
            seen.append(machines.turns())
        return original(replica, journal, *arguments)

    with machines.start("a") as a, machines.start("b") as b:
        for record in RECORDS[:10]:
            a.submit(record).result(30)
        assert_same(a, b)
        b.sharing.close()  # it follows only when it writes
        original = b.home.catch_up
        monkeypatch.setattr(b.home, "catch_up", catch_up)
        a.change(Undo([2])).result(60)
        b.submit(Learn("boats", added=["ship"])).result(30)
        assert seen == [0]
        assert_same(a, b)


def test_others_need_not_wait_while_a_machine_applies_many_records(machines, monkeypatch):
    seen = []

    def catch_up(replica, journal, *arguments):
        if replica.sequence < journal.last:
            seen.append(machines.turns())
        return original(replica, journal, *arguments)

    with machines.start("a") as a, machines.start("b") as b:
        b.sharing.close()  # it follows only when it writes
        original = b.home.catch_up
        monkeypatch.setattr(b.home, "catch_up", catch_up)
        monkeypatch.setattr(b.journal, "pull", lambda: b.journal.last)  # it sees no record before its turn
        for answer in [a.submit(Learn(f"apple {number}", added=["fruit"])) for number in range(APPLIED_IN_TURN + 1)]:
            answer.result(30)
        assert b.submit(AddLabel("ship")).result(30).sequence == APPLIED_IN_TURN + 2
        assert seen == [0]


def test_a_text_is_not_learned_on_a_state_that_has_a_skipped_record(machines, monkeypatch):
    with machines.start("a") as a, machines.start("b") as b:
        for record in RECORDS[:3]:
            a.submit(record).result(30)
        assert_same(a, b)
        b.sharing.close()  # it follows only when it writes
        monkeypatch.setattr(b.journal, "pull", lambda: b.journal.last)  # it sees no skip before its turn
        with postgres.PostgresJournal(machines.url) as journal:
            journal.skip(3, "a test")
        late = Learn("a late apple", added=["fruit"])
        b.submit(late).result(30)
        assert b.replica.state_hash() == trained([*RECORDS[:2], late]).state_hash()


def test_files_of_an_earlier_state_that_cannot_be_removed_are_reported_and_removed_later(machines, monkeypatch):
    def is_said(words):
        return any(words in message for message in machines.messages)

    def remove_outdated(journal):
        if failures:
            raise failures.pop()
        return original(journal)

    with machines.start("a") as a, machines.start("b") as b:
        for record in RECORDS[:5]:
            a.submit(record).result(30)
        assert_same(a, b)
        original, failures = b.home.remove_outdated, [OSError("in use")]
        monkeypatch.setattr(b.home, "remove_outdated", remove_outdated)
        a.change(Undo([2])).result(60)
        until(lambda: is_said("files of an earlier state cannot be removed yet: in use"))
        b.submit(Learn("boats", added=["ship"])).result(30)
        until(lambda: is_said("this one follows at record"))


def test_after_a_power_failure_an_older_snapshot_is_used_until_the_database_is_back(machines, cluster):  # noqa: F811
    journal = machines.folder / "a" / "journal.sqlite"
    with machines.start("a") as a:
        for record in RECORDS[:3]:
            a.submit(record).result(30)
    before = journal.read_bytes()
    with machines.start("a") as a:
        for record in RECORDS[3:6]:
            a.submit(record).result(30)
        assert a.snapshot(6)
    journal.write_bytes(before)  # what was not on disk yet is gone; the snapshot is there
    cluster.stop("immediate")
    try:
        with machines.start("a") as a:
            assert a.replica.sequence == 3
    finally:
        cluster.start()
    with machines.start("a") as a:
        until(lambda: a.replica.sequence == 6)
        assert a.replica.state_hash() == trained(RECORDS[:6]).state_hash()


def test_after_a_loss_machines_rank_and_snapshots_of_lost_records_are_ignored(machines, database):  # noqa: F811
    with machines.start("a", snapshot_every=5) as a:
        for record in RECORDS[:12]:
            a.submit(record).result(30)
        place = open_place(machines.place)
        until(lambda: any("00010-" in name for name in place.names(f"{a.journal.id}/snapshots")))
    database.change("DELETE FROM record WHERE sequence > 7")  # as after the promotion of a standby that was behind
    database.change("DELETE FROM key WHERE sequence > 7")
    with machines.start("a") as a:
        assert a.replica.sequence == 12
        until(lambda: any("has lost the records 8 to 12" in message for message in machines.messages))
        with pytest.raises(JournalUnavailable, match="has lost the records 8 to 12"):
            a.submit(Learn("boats", added=["ship"])).result(30)
    with machines.start("b") as b, machines.start("c", snapshot_every=5) as c:
        assert any("the snapshot of record 10 is ignored" in message for message in machines.messages)
        assert b.replica.state_hash() == trained(RECORDS[:7]).state_hash()
        for number in range(8):
            b.submit(Learn(f"boat number{number}", added=["ship"])).result(30)
        assert_same(b, c)
        machines.messages.clear()
        with machines.start("d") as d:
            assert_same(b, c, d)
        until(lambda: any("00015-" in name for name in place.names(f"{b.journal.id}/snapshots")))
        with machines.start("e") as e:
            assert any("the snapshot of record 15" in message for message in machines.messages)
            assert_same(b, c, e)


def test_a_role_that_may_not_create_tables_is_said(machines, database):  # noqa: F811
    database.change("DROP ROLE IF EXISTS guest")
    database.change("CREATE ROLE guest LOGIN")  # since PostgreSQL 15, it may not create tables
    machines.url = machines.url.replace("postgres@", "guest@")
    with pytest.raises(JournalUnavailable, match="permission denied for schema public"):
        machines.join("a")


def test_a_refit_whose_model_cannot_be_copied_is_refused(machines, tmp_path):
    with machines.start("a") as a:
        a.submit(RECORDS[0]).result(30)
        until(lambda: open_place(machines.place).names(f"{a.journal.id}/bases"))  # the first copy is complete
        (tmp_path / "place").rename(tmp_path / "gone")
        (tmp_path / "place").write_text("a file")
        base().save(a.home.base_path("0123456789abcdef"))
        with pytest.raises(RefusedRecord, match="cannot be copied to"):
            a.change(Refit("0123456789abcdef")).result(60)


def test_texts_are_appended_before_those_of_others_are_applied_and_edits_are_not(machines, monkeypatch):
    with machines.start("a") as a, machines.start("b") as b:
        b.sharing.close()  # it follows only when it writes
        held, applied = [], []
        pull, append = b.journal.pull, b.journal.append
        monkeypatch.setattr(b.journal, "pull", lambda: b.journal.last if held else pull())  # no record before the turn
        monkeypatch.setattr(
            b.journal, "append", lambda entries: (applied.append(b.replica.sequence), append(entries))[1]
        )
        b.submit(Learn("boats", added=["ship"])).result(30)
        held.append(True)
        for number in range(3):
            a.submit(Learn(f"apple {number}", added=["fruit"])).result(30)
        receipt = b.submit(Learn("trains", added=["rail"])).result(30)
        assert (receipt.sequence, receipt.new_labels) == (5, ("rail",))
        a.submit(AddLabel("tram")).result(30)
        assert b.submit(Learn("trams", added=["tram"])).result(30).new_labels == ()
        a.submit(Learn("apple pie", added=["cake"])).result(30)
        b.submit(Learn("ships", accepted=["ship"], rejected=["cake"])).result(30)
        assert applied == [0, 1, 6, 8]  # records that b had applied when it appended
        held.clear()
        assert_same(a, b)
