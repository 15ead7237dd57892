"""Single modules of the page against plain Python."""

import csv
import io
import random

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]


def run(visit, module, call, *arguments):
    address = f"{visit.address}/static/{module}.js"
    return visit.page.evaluate(
        "async ([address, call, given]) => (await import(address))[call](...given)", [address, call, list(arguments)]
    )


def test_pieces_have_the_sum_of_the_votes_that_cover_them(visit):
    chance = random.Random(1)
    for _ in range(40):
        text = "".join(chance.choice("ab c") for _ in range(chance.randrange(1, 30)))
        words = []
        for _ in range(chance.randrange(5)):
            start = chance.randrange(len(text))
            spans = [[start, chance.randrange(start + 1, len(text) + 1)]]
            words.append({"word": "w", "vote": chance.choice([-2, -1, 0.5, 1, 3]), "spans": spans})
        sums = [sum(w["vote"] for w in words for a, b in w["spans"] if a <= i < b) for i in range(len(text))]
        pieces = run(visit, "highlight", "cut", text, words)
        assert "".join(text[piece["start"] : piece["stop"]] for piece in pieces) == text
        by_letter = [piece for piece in pieces for _ in range(piece["start"], piece["stop"])]
        assert [piece["sum"] for piece in by_letter] == pytest.approx(sums)
        most = max(map(abs, sums), default=0)
        for piece, total in zip(by_letter, sums, strict=True):
            level = piece["level"]
            assert (level > 0, level < 0) == (total > 0, total < 0)
            if total:
                assert abs(level) == min(4, max(1, -(-4 * abs(total) // most)))


def test_places_follow_an_edit(visit):
    words = [{"word": w, "vote": 1, "spans": s} for w, s in (("red", [[2, 5]]), ("apple", [[6, 11]]))]
    moved = run(visit, "highlight", "follow", "a red apple", "a very red apple", words)
    assert [word["spans"] for word in moved] == [[[7, 10]], [[11, 16]]]
    moved = run(visit, "highlight", "follow", "a red apple", "a red apples", words)
    assert [word["spans"] for word in moved] == [[[2, 5]], [[6, 11]]]
    moved = run(visit, "highlight", "follow", "a red apple", "a rd apple", words)
    assert [word["spans"] for word in moved] == [[], [[5, 10]]]


def test_rounded_votes_add_up(visit):
    chance = random.Random(2)
    for _ in range(40):
        votes = [chance.uniform(-1, 3) for _ in range(chance.randrange(1, 12))]
        shown = run(visit, "highlight", "rounded", votes, sum(votes), 3)
        assert sum(shown) == pytest.approx(round(sum(votes), 3), abs=1e-9)
        assert all(abs(a - b) <= 0.001 for a, b in zip(shown, votes, strict=True))


def test_places_count_code_points_on_the_wire_and_units_in_the_page(visit):
    words = [{"word": "b", "vote": 1, "spans": [[2, 3], [4, 5]]}]
    assert run(visit, "highlight", "toUnits", "\U0001f600 b \U0001f600", words)[0]["spans"] == [[3, 4], [5, 7]]
    assert run(visit, "highlight", "toUnits", "a b c", words)[0]["spans"] == [[2, 3], [4, 5]]


def test_words_are_counted_in_any_script(visit):
    for text, n in (
        ("a red  apple", 3),
        ("naïve Äiti", 2),
        ("我爱北京", 3),
        ("สวัสดีครับ", 2),
        ("", 0),
        ("字" * 30_000, 1),
    ):
        assert run(visit, "highlight", "countWords", text) == n


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["2026-03-01T08:12:00", "2026-03-02T09:00:00"], ["1 Mar", "2 Mar"]),
        (["2025-12-31T08:12:00", "2026-12-31T09:00:00"], ["31 Dec 2025", "31 Dec 2026"]),
        (["2026-03-01T08:12:00", "2026-03-01T09:05:00"], ["1 Mar 2026, 08:12", "09:05"]),
        (
            ["2026-03-01T08:12:01", "2026-03-01T08:12:01", "2026-03-01T08:12:40"],
            ["1 Mar 2026, 08:12:01", "", "08:12:40"],
        ),
        (
            ["2026-03-01T08:12:00", "2026-03-01T09:05:00", "2026-03-02T09:05:00"],
            ["1 Mar, 08:12", "09:05", "2 Mar"],
        ),
    ],
)
def test_an_axis_has_days_and_times_where_a_day_repeats(visit, times, words):
    assert run(visit, "dates", "axisOf", times) == words


FORMULAS = ["=1+1", "+44 foxes", "-5", "-5 foxes", "@fox", "\tfox", "\rfox", "'=1", "'tis"]
GUARDED = ["'=1+1", "'+44 foxes", "-5", "'-5 foxes", "'@fox", "'\tfox", "'\rfox", "''=1", "'tis"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_has_no_formulas_and_reads_back(visit, separator):
    records = [{"id": f"n{i}", "text": text} for i, text in enumerate(FORMULAS)]
    table = run(visit, "table", "writeTable", ["id", "text"], records, separator)
    assert [row["text"] for row in csv.DictReader(io.StringIO(table, newline=""), delimiter=separator)] == GUARDED
    assert [row["text"] for row in run(visit, "files", "fromCsv", table, separator)["rows"]] == FORMULAS


def test_the_history_as_a_table_has_no_formulas(visit):
    records = [{"sequence": i, "kind": "learn", "text": text, "added": ["=x"]} for i, text in enumerate(FORMULAS)]
    rows = list(csv.DictReader(io.StringIO(run(visit, "log_export", "exportTable", records, {}), newline="")))
    assert [row["text"] for row in rows] == GUARDED
    assert {row["added"] for row in rows} == {"'=x"}
