"""Probabilities of labels on the page, the labels to apply, and decisions that are sent once."""

import re

import pytest

from abound import Tagger
from benchmarks.page import stage
from tests.page.conftest import Stage
from tests.test_tagger_bands import documents

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "apple pear race"


@pytest.fixture(scope="module")
def stage_of_titles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("likely")
    Tagger().fit(*documents(400)).save(folder / "model")
    with stage.Server(folder / "model") as server:
        yield Stage(server.address, [])


def words_of(probability):
    return "<1%" if probability < 0.01 else ">99%" if probability > 0.99 else f"{int(probability * 100 + 0.5)}%"


@pytest.mark.parametrize("screen", ["light", "dark", "phone"])
def test_labels_say_how_likely_they_are_and_which_to_apply(open_visit, screen):
    visit = open_visit(screen)
    page = visit.page
    visit.open()
    visit.type(TEXT)
    found = visit.post("v1/rank", {"text": TEXT, "assign": True})["labels"]
    assigned = [entry["label"] for entry in visit.post("v1/assign", {"text": TEXT})["results"][0]]
    assert [entry["label"] for entry in found if entry["assigned"]] == assigned
    assert 0 < len(assigned) < len(found)
    rows = page.locator(".ranking > .row")
    shown = rows.locator("> .figure").all_text_contents()
    assert shown == [f"{words_of(entry['probability'])} likely" for entry in found]
    assert page.locator(".row.is-assigned").evaluate_all("rows => rows.map((row) => row.dataset.label)") == assigned
    assert page.locator(".row.is-assigned .band.apply").all_text_contents() == ["Apply"] * len(assigned)
    described = page.locator(".pick").evaluate_all("picks => picks.map((x) => x.getAttribute('aria-description'))")
    for entry, words in zip(found, described, strict=True):
        spoken = words_of(entry["probability"]).replace("<", "less than ").replace(">", "more than ")
        ending = ", a label to apply" if entry["assigned"] else ""
        assert words == f"rank {entry['rank']}, {spoken} likely{ending}"
    # The words fit beside the label, and the score is in the explanation.
    assert rows.locator("> .figure").evaluate_all("all => all.every((x) => x.scrollWidth <= x.clientWidth)")
    if screen != "phone":
        assert re.fullmatch(r"\d+\.\d{3}", page.locator(".why tfoot .figure").text_content())
        assert page.locator(".why .hint").text_content().startswith(shown[0])


def test_a_decision_is_sent_once(open_visit):
    visit = open_visit()
    sent = []
    visit.page.on("request", lambda r: r.method == "POST" and sent.append(r.url.rpartition("/v1/")[2]))
    visit.open()
    visit.type(TEXT)
    before = visit.sequence
    visit.page.get_by_role("button", name="Reject chance").click()
    visit.page.get_by_role("button", name="Done").click()
    visit.settled(before + 1)
    assert visit.sequence == before + 1
    assert [path for path in sent if path != "rank"] == ["learn"]


def test_a_model_without_probabilities_shows_scores(open_visit, tmp_path):
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(tmp_path / "model")
    with stage.Server(tmp_path / "model") as server:
        visit = open_visit()
        visit.address = server.address
        visit.page.goto(f"{server.address}/#/tag")
        visit.type("a red apple")
        shown = [float(score) for score in visit.page.locator(".row > .figure").all_text_contents()]
        assert shown == pytest.approx([entry["score"] for entry in visit.rank("a red apple")], abs=0.005)
        assert visit.page.locator(".is-assigned").count() == 0
        visit.problems[:] = [problem for problem in visit.problems if "asked another host" not in problem]
