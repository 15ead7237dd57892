"""The focused label is the current one, nothing moves below a person's hands, and everything is announced."""

import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]
CLOSE = "Urban gardens and food in cities"
FOCUSED = "() => document.activeElement.closest('.row')?.dataset.label ?? null"
CURRENT = "() => document.querySelector('.row.is-current')?.dataset.label ?? null"


def here(visit):
    """Return the focused label, which must be the current one."""
    focused, current = visit.page.evaluate(FOCUSED), visit.page.evaluate(CURRENT)
    assert focused == current
    return current


def spoken(visit, words):
    visit.page.wait_for_function("(words) => document.getElementById('spoken').textContent.includes(words)", arg=words)


def test_cursor_and_focus_follow_the_label_into_the_new_ranking(visit):
    page, before = visit.page, visit.sequence
    visit.type(CLOSE)
    visit.press("Escape", "j", "j", "j")
    label = here(visit)
    visit.press("a", "Enter")
    visit.settled(before + 1)
    page.wait_for_selector(".moved")
    visit.ranked(CLOSE)
    assert here(visit) == label
    assert page.locator(".row").first.get_attribute("data-label") == label  # it has risen
    spoken(visit, "Learned. New ranking: 10 labels, first: ")
    visit.press("r")  # acts on the label that the person sees as current
    assert page.locator(".row.is-rejected").get_attribute("data-label") == label
    visit.press("u")
    spoken(visit, "Undone")


def test_nothing_is_sorted_again_while_a_person_goes_on(visit):
    page, before = visit.page, visit.sequence
    text = "Gardens and parks in old towns"
    visit.type(text)
    names = visit.names
    page.route("**/v1/learn", lambda route: (page.wait_for_timeout(800), route.continue_()))
    visit.press("Escape", "j", "j", "a", "Enter", "j", "a")
    label = here(visit)
    page.locator(".chip.learned").first.wait_for(timeout=30_000)
    page.wait_for_timeout(300)
    assert visit.names == names
    page.get_by_role("button", name="Show the new ranking").wait_for()
    assert visit.sequence == before + 1
    assert here(visit) == label
    page.unroute("**/v1/learn")
    page.get_by_role("button", name="Show the new ranking").click()
    page.wait_for_selector(".moved")
    visit.ranked(text)
    assert page.evaluate(CURRENT) == label


def test_the_next_text_has_its_first_label_focused(visit, stage_of_titles, tmp_path):
    page = visit.page
    titles = [text for text, _ in stage_of_titles.rows[400:430] if len(visit.rank(text)) == 10][:3]
    file = tmp_path / "three.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in titles))
    visit.open("queue")
    page.locator("#file").set_input_files(file)
    visit.ranked(titles[0])
    visit.press("j", "j", "j", "j")
    assert here(visit) == visit.rank(titles[0])[4]["label"]
    visit.press("n")
    first = visit.ranked(titles[1])[0]
    assert here(visit) == first["label"]
    spoken(visit, f"first: {first['name']}")
    visit.press("a")
    assert page.locator(".row.is-accepted").get_attribute("data-label") == first["label"]
    spoken(visit, f"Accepted {first['name']}.")
    visit.press("a")
    spoken(visit, f"{first['name']}: decision removed.")
    visit.press("j", "a", "Enter")
    first = visit.ranked(titles[2])[0]
    assert here(visit) == first["label"]


def test_the_help_opens_at_its_beginning(open_visit):
    visit = open_visit()
    visit.page.set_viewport_size({"width": 1200, "height": 500})  # lower than the help
    visit.open()
    visit.press("Escape", "?")
    heading = visit.page.get_by_role("heading", name="Keyboard shortcuts")
    heading.wait_for()
    box, dialog = heading.bounding_box(), visit.page.locator("dialog").bounding_box()
    assert box["y"] >= dialog["y"]
    visit.press("Tab")
    assert visit.page.evaluate("document.activeElement.id") == "keys-on"
