"""A model whose texts have fields: the page reads them from the text, and says which field voted."""

import pytest

from abound import Tagger
from benchmarks.page import stage
from tests.page.conftest import Stage
from tests.page.test_modules import run
from tests.test_tagger_fields import LABELS, TEXTS

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "title: 🍎 Apple trees\nabstract: a red fruit\nthat grows"


@pytest.fixture(scope="module")
def stage_of_titles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    Tagger().fit(TEXTS, LABELS).save(folder / "model")
    with stage.Server(folder / "model") as server:
        yield Stage(server.address, [])


def test_the_page_shows_which_field_voted(visit):
    page = visit.page
    assert "title: …\nabstract: …" in page.locator("#text").get_attribute("placeholder")
    page.locator("#text").fill(TEXT)
    page.wait_for_function("() => document.querySelector('.pick')?.textContent === 'fruit'")
    page.locator(".in-field").first.wait_for()
    votes = dict(row.split(" in ") for row in page.locator("table.votes tbody th").all_text_contents() if " in " in row)
    assert votes["red"] == "abstract"
    assert votes["tree"] == "title"
    marked = "".join(page.locator(".marks mark").all_text_contents())
    assert "Apple trees" in marked
    assert "red fruit" in marked
    assert "title" not in marked
    assert "abstract" not in marked


def test_a_decision_is_learned_with_its_fields(visit):
    text = "title: Zebra cars\nabstract: stripes"
    visit.page.locator("#text").fill(text)
    visit.page.locator("#text").focus()
    visit.page.wait_for_function("() => document.querySelector('.pick')?.textContent === 'vehicle'")
    sequence = visit.sequence
    visit.press("Escape", "/")
    visit.page.keyboard.type("traffic")
    visit.page.wait_for_selector("[role=option].is-new")
    visit.press("Enter", "Enter")
    visit.settled(sequence + 1)
    fields = {"title": "Zebra cars", "abstract": "stripes"}
    [best, *_] = visit.post("v1/rank", {"text": fields, "explain": True})["labels"]
    assert best["label"] == "traffic"
    assert {field for word in best["words"] for field in word["fields"]} == {"title", "abstract"}


def test_texts_without_a_field_are_plain(visit):
    assert run(visit, "fields", "toRequest", "Apple trees: title: x") == "Apple trees: title: x"
    assert run(visit, "fields", "toRequest", "note\ntitle: x") == "note\ntitle: x"
    assert run(visit, "fields", "toRequest", "Title:  a\nabstract:\nb\ntitle: c") == {
        "title": "a",
        "abstract": "b\ntitle: c",
    }
    assert run(visit, "fields", "toRequest", "abstract: a \n\n") == {"abstract": "a"}


def test_records_of_files_become_texts_with_fields(visit):
    rows = run(visit, "files", "fromCsv", "Title,abstract,labels\nApples,red fruit,x\n")["rows"]
    assert [row["text"] for row in rows] == ["title: Apples\nabstract: red fruit"]
    [row] = run(visit, "files", "fromJsonLines", '{"text": {"title": "Apples"}, "labels": []}\n')["rows"]
    assert row["text"] == "title: Apples"
    [row] = run(visit, "files", "fromJsonLines", '{"text": "Apples"}\n')["rows"]
    assert row["text"] == "Apples"
