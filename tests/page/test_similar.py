"""Similar texts on the page: below the words that vote for a label."""

import pytest

from abound import Tagger
from benchmarks.page import stage
from benchmarks.served_vectors import fitted, text_of, write_table
from tests.page import accessible
from tests.page.conftest import Stage
from tests.second_opinion.test_similar_words import documents

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "bread and the butter of a cake"
LONG = f"{TEXT} {'salt and soup ' * 100}"  # it is explained by a separate request
NAMES = {"food": "Food <b>and</b> drink"}


@pytest.fixture(scope="module")
def stage_of_titles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("similar")
    Tagger(embeddings="words").fit(*documents(400), label_names=NAMES).save(folder / "model")
    with stage.Server(folder / "model") as server:
        yield Stage(server.address, [])


def shown(page):
    page.locator(".precedents").wait_for()
    items = page.locator(".precedents li")
    return list(
        zip(items.locator(".precedent").all_text_contents(), items.locator(".hint").all_text_contents(), strict=True)
    )


def wanted(visit, text, label):
    found = visit.post("v1/explain", {"text": text, "label": label})["similar"]
    assert 0 < len(found) <= 3
    return [
        (
            one["text"],
            f"{int(one['similarity'] * 100 + 0.5)}% similar: "
            + ", ".join(own.get("name", own["label"]) for own in one["labels"]),
        )
        for one in found
    ]


@pytest.mark.parametrize("text", [TEXT, LONG])
def test_similar_texts_are_below_the_words(visit, text):
    visit.type(text)
    page = visit.page
    assert shown(page) == wanted(visit, text, "food")
    assert page.get_by_role("heading", name="Similar texts that have this label").is_visible()
    votes, below = (page.locator(at).bounding_box() for at in (".why-body", ".precedents"))
    assert below["y"] >= votes["y"] + votes["height"]
    assert page.evaluate("() => !document.querySelector('.why-body').contains(document.querySelector('.precedents'))")
    # The labels of a similar text are links that the keyboard reaches.
    page.locator(".why-body").focus()
    for _ in range(60):
        visit.press("Tab")
        if page.evaluate("() => document.activeElement.closest('.precedents') !== null"):
            break
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#/label?name=food"


def test_another_label_has_other_similar_texts(visit):
    text = "bread and the butter of a road"
    visit.type(text)
    assert len(visit.names) > 1
    page = visit.page
    first = shown(page)
    page.locator(".row:not(.is-current) .pick").first.click()
    label = page.locator(".row.is-current").get_attribute("data-label")
    page.wait_for_function(
        "(text) => ![...document.querySelectorAll('.precedent')].some((p) => p.textContent === text)"
        " && document.querySelector('.precedent')",
        arg=first[0][0],
    )
    assert shown(page) == wanted(visit, text, label)


def test_nothing_moves_when_they_appear(visit):
    page = visit.page
    held = []
    page.route("**/v1/explain", lambda route: held.append(route))
    visit.type(TEXT)
    page.locator(".votes").wait_for()
    places = "() => ['.list-card', '.text-card', '.votes', '.why h2'].map((x) => { const { x: left, y, width, height } = document.querySelector(x).getBoundingClientRect(); return [left, y, width, height]; })"  # noqa: E501
    page.wait_for_timeout(600)
    assert held
    before = page.evaluate(places)
    assert page.locator(".precedents").count() == 0
    for route in held:
        route.continue_()
    shown(page)
    assert page.evaluate(places) == before


@pytest.mark.parametrize("window", accessible.windows("dark", "phone"))
def test_similar_texts_are_accessible(open_visit, axe, window):
    options = dict(accessible.WINDOWS[window])
    visit = open_visit(options.pop("screen"), **options)
    visit.open()
    visit.type(TEXT)
    page = visit.page
    if page.locator(".row.is-current .row-why").is_visible():
        page.locator(".row.is-current .row-why").click()
    shown(page)
    assert accessible.faults(page, axe) == []


def test_a_problem_leaves_the_words(open_visit):
    visit = open_visit()
    visit.page.route("**/v1/explain", lambda route: route.fulfill(status=404, json={"detail": "gone"}))
    visit.open()
    visit.type(TEXT)
    with visit.page.expect_response("**/v1/explain"):
        visit.page.locator(".pick").first.click()
    assert visit.page.locator(".votes").is_visible()
    assert visit.page.locator(".precedents").count() == 0
    visit.problems.clear()


def test_a_model_without_them_is_not_asked(open_visit, tmp_path):
    Tagger().fit(*documents(60)).save(tmp_path / "model")
    with stage.Server(tmp_path / "model") as server:
        visit = open_visit()
        visit.address, asked = server.address, []
        visit.page.on("request", lambda request: asked.append(request.url.rpartition("/v1/")[2]))
        visit.open()
        visit.type(TEXT)
        visit.page.wait_for_timeout(600)
        assert "rank" in asked
        assert "explain" not in asked
        assert visit.page.locator(".precedents").count() == 0
        visit.problems[:] = [problem for problem in visit.problems if "asked another host" not in problem]


def test_the_words_of_a_blend_add_up_to_their_own_sum(open_visit, tmp_path):
    tagger = fitted(write_table(tmp_path / "table"))
    assert tagger.blends
    tagger.save(tmp_path / "model")
    with stage.Server(tmp_path / "model") as server:
        visit = open_visit()
        visit.address = server.address
        visit.open()
        visit.type(text_of(3))
        why = visit.page.locator(".why")
        why.get_by_text("Not only words vote here.").wait_for()
        assert why.locator("tfoot th").text_content() == "Sum"
        votes = [float(vote.replace("−", "-")) for vote in why.locator("tbody td.figure").all_text_contents()]
        assert sum(votes) == pytest.approx(float(why.locator("tfoot tr").get_attribute("data-score")), abs=0.01)
        visit.problems[:] = [problem for problem in visit.problems if "asked another host" not in problem]
