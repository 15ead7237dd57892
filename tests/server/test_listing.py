"""Records are found page by page, in both directions, in the file and in the archive."""

import random

import pytest

from abound.server import listing
from abound.server.listing import Filter, find_records
from abound.store.journal import Entry, Journal, Origin
from abound.store.journal.records import Forget, Learn, MergeLabels, RenameLabel, Undo

N = 330  # several pages of the file


@pytest.fixture
def journal(tmp_path):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        people, chance = ["ann", "bob", None], random.Random(1)
        for number in range(1, N + 1):
            record = Learn({"title": f"Text {number}", "body": "ROSES" if number % 50 == 0 else ""}, added=[number % 7])
            if number % 40 == 0:
                record = RenameLabel(f"old {number}", f"new {number}")
            journal.append([Entry(record, None, Origin(chance.choice(people), chance.choice(["page", "api"])))])
        yield journal


def all_pages(journal, wanted=None, oldest_first=False, **options):
    """Return the sequences that repeated calls find, and the number of calls."""
    found, calls, bounds = [], 0, {"after": options.pop("after", 0), "before": options.pop("before", None)}
    while True:
        page = find_records(journal, wanted or Filter(), oldest_first=oldest_first, **bounds, **options)
        found += [one.stored.sequence for one in page.records]
        calls += 1
        if page.next is None:
            return found, calls
        bounds["after" if oldest_first else "before"] = page.next


@pytest.mark.parametrize("archived", [0, 145, N])
def test_pages_in_both_directions_have_every_record_once(journal, archived):
    if archived:
        journal.compact(archived)
    for after, before in ((0, None), (7, 301), (120, 160), (329, None), (330, None), (5, 6)):
        wanted = [n for n in range(1, N + 1) if n > after and (before is None or n < before)]
        for options in ({"limit": 1}, {"limit": 40}, {"limit": 1000}, {"limit": 3, "most": 2}):
            if options["limit"] < 40 and len(wanted) > 60:
                continue  # it would read an archive as often
            bounds = {"after": after, "before": before}
            assert all_pages(journal, oldest_first=True, **bounds, **options)[0] == wanted
            assert all_pages(journal, **bounds, **options)[0] == wanted[::-1]


def test_filters(journal):
    stored = {one.sequence: one for one in journal.read(0)}

    def check(wanted, condition):
        expected = [number for number, one in stored.items() if condition(one)]
        assert 0 < len(expected) < N
        assert all_pages(journal, wanted, oldest_first=True)[0] == expected
        assert all_pages(journal, wanted, limit=2)[0] == expected[::-1]

    check(Filter(who="ann"), lambda one: one.who == "ann")
    check(Filter(source="page", kind="learn"), lambda one: one.source == "page" and one.record.kind == "learn")
    check(Filter(kind="rename label"), lambda one: one.sequence % 40 == 0)
    check(Filter(labels=frozenset({"3"})), lambda one: one.record.kind == "learn" and one.sequence % 7 == 3)
    check(Filter(labels=frozenset({"new 80", "old 120"})), lambda one: one.sequence in (80, 120))
    check(Filter(text="rOsEs"), lambda one: one.sequence % 50 == 0 and one.sequence % 40)
    middle = stored[100].time
    check(Filter(since=middle), lambda one: one.time >= middle)
    check(Filter(until=middle), lambda one: one.time < middle)


def test_a_call_reads_a_limited_number_of_records(journal, monkeypatch):
    assert all_pages(journal, Filter(text="nowhere"), most=100) == ([], 4)
    page = find_records(journal, Filter(text="text 5"), most=10)
    assert (page.records, page.next) == ([], N - 9)
    monkeypatch.setattr(listing, "MAX_SCANNED_CHARACTERS", 100)
    assert all_pages(journal, Filter(text="nowhere"))[1] > 20
    monkeypatch.setattr(listing, "MAX_FOUND_CHARACTERS", 30)
    assert len(find_records(journal, Filter()).records) < 10
    assert all_pages(journal)[0] == list(range(N, 0, -1))
    assert all_pages(journal, oldest_first=True)[0] == list(range(1, N + 1))


def test_a_record_says_whether_it_counts(tmp_path):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        journal.append([(Learn(f"text {number}", added=["a"]), None) for number in range(1, 7)])
        journal.append([(Undo([1, 2]), None), (Undo([3]), None), (Undo([8]), None), (MergeLabels("a", "b"), None)])
        journal.forget(Entry(Forget([2, 4])))
        journal.skip(5)
        described = [one.describe() for one in find_records(journal, Filter(), oldest_first=True).records]
    found = {one["sequence"]: (one["status"], one.get("by")) for one in described}
    assert found == {
        1: ("undone", 7),
        2: ("forgotten", 11),
        3: ("live", None),  # the undo of record 3 was undone
        4: ("forgotten", 11),
        5: ("skipped", None),
        6: ("live", None),
        7: ("live", None),
        8: ("undone", 9),
        9: ("live", None),
        10: ("live", None),
        11: ("live", None),
    }
    assert [one["kind"] for one in described][:4] == ["learn", "forgotten", "learn", "forgotten"]
