"""Books get their subjects by keyboard: exactly, with few keys, one correction a book."""

import pytest

from benchmarks.page import stage
from benchmarks.page.books import catalogue

pytestmark = [pytest.mark.browser, pytest.mark.data]
MOST_KEYS = 12


@pytest.fixture(scope="module")
def names(data_folder):
    lines = (data_folder / "yso-finna-en" / "labels.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def corrections(visit):
    """Return the labels of each correction by its text."""
    records = visit.get("v1/records?limit=100")["records"]
    assert len({record["text"] for record in records}) == len(records)  # one correction a text
    return {record["text"]: sorted(record.get("accepted", []) + record.get("added", [])) for record in records}


@pytest.mark.parametrize("n", [5, pytest.param(30, marks=pytest.mark.slow)])
def test_books_by_keyboard(browser, open_visit, model, names, tmp_path, n):
    path, rows = model
    books = rows[:n]
    with stage.Server(path, "--state", str(tmp_path / "page")) as server:
        visit = open_visit()
        visit.address = server.address
        found = catalogue(visit.page, server.address, books, names, tmp_path)
        print(found)
        assert corrections(visit) == {text: sorted(labels) for text, labels in books}
        by_page = visit.get("v1/progress")["points"]
        visit.page.goto("about:blank")
        visit.problems[:] = [problem for problem in visit.problems if "asked another host" not in problem]
    if n == 30:
        assert found["keys_a_book"] <= MOST_KEYS
    # The same corrections through the interface alone: progress is the same.
    with stage.Server(path, "--state", str(tmp_path / "api")) as server:
        visit.address = server.address
        rights = []
        for text, labels in books:
            ranked = visit.rank(text)
            rights.append(bool(ranked) and ranked[0]["label"] in labels)
            shown = {entry["label"] for entry in ranked}
            decided = {
                "accepted": [one for one in labels if one in shown],
                "added": [one for one in labels if one not in shown],
            }
            visit.post("v1/learn", {"text": text, **decided})
        by_api = visit.get("v1/progress")["points"]
    for points in (by_page, by_api):
        assert [point.get("right", False) for point in points] == rights
    assert [point["p1"] for point in by_page] == [point["p1"] for point in by_api]
