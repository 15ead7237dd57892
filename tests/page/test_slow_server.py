"""A slow server: the page says that it waits, and takes no decision on the labels of another text."""

import json
import time

import pytest

from benchmarks.page import stage

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "Forest fires and climate change"
SLOW = """(milliseconds) => {
    const sent = window.fetch;
    window.fetch = (...asked) => (String(asked[0]).endsWith('/v1/rank') ? new Promise((go) => setTimeout(go, milliseconds)) : Promise.resolve())
        .then(() => sent(...asked));
}"""  # noqa: E501


def test_labels_of_an_older_text_look_old_and_can_still_be_accepted(visit):
    page = visit.page
    visit.type(TEXT)
    page.evaluate(SLOW, 9000)
    name = visit.names[1]
    page.locator("#text").press("End")
    page.keyboard.type(" in Finland")
    page.get_by_text("Ranking…").wait_for(timeout=6000)
    assert page.locator(".list-card").get_attribute("aria-busy") == "true"
    assert not page.locator(".row > .figure").first.is_visible()
    page.get_by_role("button", name=f"Accept {name}", exact=True).click()
    page.locator(".chip.accept", has_text=name).wait_for(timeout=5000)  # not ignored
    visit.ranked(f"{TEXT} in Finland")
    page.get_by_text("Ranking…").wait_for(state="hidden")
    assert page.locator(".row > .figure").first.is_visible()
    assert page.locator(".row.is-accepted .pick").text_content() == name
    visit.press("Escape", "u")
    visit.settled(0)


def test_the_next_text_never_shows_the_labels_of_the_last_one(visit, stage_of_titles, tmp_path):
    page, before = visit.page, visit.sequence
    titles = [text for text, _ in stage_of_titles.rows[500:530] if len(visit.rank(text)) == 10][:2]
    file = tmp_path / "two.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in titles))
    visit.open("queue")
    page.locator("#file").set_input_files(file)
    visit.ranked(titles[0])
    page.evaluate(SLOW, 7000)
    place = page.locator(".act.accept").first.bounding_box()
    visit.press("n")
    page.get_by_text("Ranking…").wait_for(timeout=6000)
    assert page.locator(".ranking").evaluate("(list) => getComputedStyle(list).opacity") == "0"
    page.mouse.click(place["x"] + 5, place["y"] + 5)  # on a label of the last text
    visit.press("2")  # waits for the labels of this text
    assert page.locator(".chip").count() == 0
    second = visit.ranked(titles[1])[1]
    page.locator(".chip.accept").wait_for()
    assert page.locator(".row.is-accepted").evaluate_all("rows => rows.map((row) => row.dataset.label)") == [
        second["label"]
    ]
    assert visit.sequence == before


def test_enter_twice_before_the_options_are_there_adds_the_label_and_is_done(visit):
    page, before = visit.page, visit.sequence
    visit.type(TEXT)
    page.evaluate(SLOW.replace("/v1/rank", "/v1/labels"), 800)
    visit.press("Escape", "/")
    page.keyboard.type("forest fires")
    visit.press("Enter", "Enter")
    visit.page.locator(".chip.learned", has_text="forest fires").wait_for()
    assert visit.sequence == before + 1


def test_the_first_search_for_a_label_is_quick(browser, model, tmp_path):
    with stage.Server(model[0], "--state", str(tmp_path / "home")) as server:
        page = browser.new_page()
        page.goto(server.address)
        page.locator("#text").fill(TEXT)
        page.wait_for_selector(".row")
        page.locator("[role=combobox]").focus()
        start = time.perf_counter()
        page.keyboard.press("f")
        page.wait_for_selector("[role=option]")
        assert time.perf_counter() - start < 2.0
        page.close()
