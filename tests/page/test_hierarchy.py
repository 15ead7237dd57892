"""The path from the top concept to a label, on the page."""

import pytest

from abound import Tagger
from benchmarks.page import stage
from tests.page.conftest import Stage
from tests.test_tagger_hierarchy import NAMES, hierarchy, rows

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "w23 w2 w40"


@pytest.fixture(scope="module")
def stage_of_titles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hierarchy")
    names = {**NAMES, "l2": "second topic <b>of all</b>"}
    Tagger().fit(*rows(600), label_names=names, hierarchy=hierarchy()).save(folder / "model")
    with stage.Server(folder / "model") as server:
        yield Stage(server.address, [])


@pytest.mark.parametrize("screen", ["light", "dark", "phone"])
def test_ranked_labels_show_the_labels_above_them(open_visit, screen):
    visit = open_visit(screen)
    visit.open()
    visit.type(TEXT)
    found = visit.post("v1/rank", {"text": TEXT, "paths": True})["labels"]
    wanted = [" › ".join(step["name"] for step in entry.get("path", ())) for entry in found]
    assert "second topic <b>of all</b>" in wanted
    assert "" in wanted
    paths = visit.page.locator(".ranking > .row .path")
    assert paths.all_text_contents() == wanted
    assert [paths.nth(at).is_visible() for at in range(len(wanted))] == [bool(path) for path in wanted]
    first = wanted.index("second topic <b>of all</b>")
    below = visit.page.locator(".pick").nth(first).get_attribute("aria-description")
    assert below.endswith(", below second topic <b>of all</b>")
    name, path = (visit.page.locator(at).nth(first).bounding_box() for at in (".pick", ".path"))
    assert path["y"] >= name["y"] + name["height"] - 4  # below the name, not beside it


def test_the_page_of_a_label_begins_with_the_path(open_visit):
    visit = open_visit()
    visit.open("label?name=l23")
    crumbs = visit.page.locator(".crumbs")
    crumbs.get_by_text("second topic").wait_for()
    assert crumbs.text_content() == "Labels › second topic <b>of all</b>"
    crumbs.get_by_text("second topic").click()
    visit.page.locator("h1", has_text="second topic").wait_for()
