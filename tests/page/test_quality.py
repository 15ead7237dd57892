"""The quality of labels in the list of labels, of a server that was given a table."""

import pytest

from abound import Tagger
from abound.tagger.label_quality import LabelQuality, write_quality
from benchmarks.page import stage
from tests.page.conftest import Stage

pytestmark = [pytest.mark.browser, pytest.mark.data]
ROWS = [
    LabelQuality("car", None, 1_300, 120, 0.833, 0.5, 0.6, 0.7, "fox", 4),
    LabelQuality("fox", "Foxes", 1, 0, None, 0.0, 0.0, 0.1, None, 0),
    LabelQuality("deer", None, 0, 3, 0.0, None, 0.0, None, None, 0),
]


@pytest.fixture(scope="module")
def stage_of_titles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rated")
    texts, labels = ["a car", "a car", "a fox", "a deer", "a whale"], [["car"], ["car"], ["fox"], ["deer"], ["whale"]]
    Tagger().fit(texts, labels, label_names={"fox": "Foxes <b>of</b> all kinds"}).save(folder / "model")
    write_quality(ROWS, folder / "q.csv")
    with stage.Server(folder / "model", "--quality", str(folder / "q.csv")) as server:
        yield Stage(server.address, [])


def shown(page):
    names = page.locator(".label-table th a").all_text_contents()
    lines = [item.locator(".quality").all_text_contents() for item in page.locator(".label-table tbody tr").all()]
    return dict(zip(names, lines, strict=True))


@pytest.mark.parametrize("screen", ["light", "phone"])
def test_labels_show_their_quality_in_plain_words_and_the_worst_first_on_request(open_visit, screen):
    visit = open_visit(screen)
    page = visit.page
    visit.open("labels")
    page.locator(".label-table tbody tr").nth(3).wait_for()
    foxes = "Foxes <b>of</b> all kinds"
    assert shown(page) == {
        "car": [f"right: 83% of 120 · found: 50% of 1,300 · confused with {foxes} (4)"],
        foxes: ["never assigned · found: 0% of 1"],
        "deer": ["right: 0% of 3 · no text has it"],
        "whale": [],
    }
    assert next(iter(shown(page))) == "car"
    assert page.locator(".label-table tbody tr").first.locator("td").nth(1).text_content() == "60%"
    page.get_by_role("columnheader", name="Quality").get_by_role("button").click()
    page.wait_for_function("() => !document.querySelector('.label-table th a').textContent.startsWith('car')")
    assert list(shown(page)) == [foxes, "deer", "car", "whale"]
    page.get_by_role("columnheader", name="Quality").get_by_role("button").click()  # now the best first
    page.wait_for_function("() => document.querySelector('.label-table th a').textContent.startsWith('car')")
    page.keyboard.press("/")
    page.keyboard.type("car")
    page.wait_for_function("() => document.querySelectorAll('.label-table tbody tr').length === 1")
    title = page.locator(".quality").get_attribute("title")
    assert title.startswith("It was assigned to 120 texts; 83% of them have it. ")
    assert title.endswith("1,300 texts have it; it was assigned to 50% of them.")
