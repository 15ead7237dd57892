"""One correction a text, sent when the person is done with it, and undone if it was wrong."""

import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]


def record_of(visit, text):
    """Return the records of a text, the oldest first."""
    found = visit.get("v1/records?limit=100")["records"]
    return [record for record in reversed(found) if record.get("text") == text]


def button(visit, kind, i):
    return visit.page.locator(f".row .act.{kind}").nth(i)


def test_a_text_is_one_correction_however_long_it_takes(visit):
    page, before = visit.page, visit.sequence
    text = "The winter war in novels"
    visit.type(text)
    labels = [entry["label"] for entry in visit.rank(text)]
    visit.press("Escape", "a")
    page.wait_for_timeout(6500)
    assert visit.sequence == before
    assert page.locator("#pending").text_content().count(" s") == 0  # no countdown
    visit.press("3", "j", "r")
    page.wait_for_timeout(1000)
    assert visit.sequence == before
    visit.press("Enter")
    visit.settled(before + 1)
    (correction,) = record_of(visit, text)
    assert (correction["accepted"], correction["rejected"]) == ([labels[0], labels[2]], [labels[3]])
    assert page.locator(".chip.learned").count() == 3


def test_decisions_survive_a_closed_tab_and_are_shown_at_once(visit):
    page, before = visit.page, visit.sequence
    text = "A cookbook of mushrooms"
    visit.type(text)
    visit.press("Escape", "j", "a")
    page.close()
    page = visit.page = page.context.new_page()
    visit.open()
    visit.ranked(text)
    page.locator(".chip.accept.pending").wait_for()
    assert button(visit, "accept", 1).get_attribute("aria-pressed") == "true"
    assert visit.sequence == before
    page.get_by_role("button", name="Done").click()
    visit.settled(before + 1)
    assert len(record_of(visit, text)) == 1


def test_accept_toggles_and_a_second_done_replaces_the_correction(visit):
    page, before = visit.page, visit.sequence
    text = "Sailing ships of the Baltic Sea"
    visit.type(text)
    first, second = visit.names[:2]
    button(visit, "accept", 0).click()
    button(visit, "accept", 0).click()
    assert page.locator(".chip").count() == 0
    button(visit, "accept", 0).click()
    page.get_by_role("button", name="Done").click()
    visit.settled(before + 1)
    page.locator(".chip.learned").wait_for()
    # Clicking an accepted label teaches nothing again: it takes the decision back.
    page.get_by_role("button", name=f"Accept {first}", exact=True).click()
    assert page.locator(".chip").count() == 0
    assert visit.sequence == before + 1
    page.get_by_role("button", name=f"Accept {second}", exact=True).click()
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector("body:not(.has-pending)", timeout=120_000)
    old, new = record_of(visit, text)
    assert (old["status"], new["status"]) == ("undone", "live")
    assert len(new["accepted"]) == 1
    assert new["accepted"] != old["accepted"]


def test_accept_pressed_again_teaches_nothing(visit):
    page, before = visit.page, visit.sequence
    visit.type("Windmills of the western coast")
    visit.press("Escape", "a", "Enter")
    page.locator(".chip.accept.learned").wait_for(timeout=30_000)
    page.locator(".act.accept[aria-pressed=true]").click()
    page.wait_for_timeout(6500)
    assert visit.sequence == before + 1


def test_a_correction_is_undone_after_a_question(visit):
    page, before = visit.page, visit.sequence
    text = "Lighthouses on stormy coasts"
    visit.type(text)
    ranked = visit.rank(text)
    visit.press("Escape", "a", "Enter")
    visit.settled(before + 1)
    page.wait_for_selector(".chip.learned")
    visit.press("u")
    page.locator("#pending", has_text="Undo the correction").wait_for()
    visit.press("Escape")
    page.locator("#pending", has_text="Learned.").wait_for()
    visit.press("u", "u")
    page.wait_for_selector("body:not(.has-pending)", timeout=120_000)
    assert [record["status"] for record in record_of(visit, text)] == ["undone"]
    assert page.locator(".chip").count() == 0
    visit.ranked(text)
    assert visit.rank(text) == ranked  # as if it had not been taught


def test_a_correction_whose_answer_is_lost_is_learned_once(visit):
    page, before = visit.page, visit.sequence
    text = "Pottery of the bronze age"
    visit.type(text)
    lost = []

    def lose(route):
        lost.append(route.fetch().status)
        route.abort()

    page.route("**/v1/learn", lose, times=1)
    visit.press("Escape", "a", "Enter")
    page.locator(".chip.waiting").wait_for()
    page.wait_for_selector(".chip.learned")
    assert lost == [200]
    assert visit.sequence == before + 1
    visit.problems.clear()


def test_decisions_follow_an_edit_but_not_another_text(visit):
    page, before = visit.page, visit.sequence
    text = "Railway stations of northern Europe"
    visit.type(text)
    visit.press("Escape", "1", "e", "End")
    page.keyboard.type(" and Asia")
    visit.ranked(f"{text} and Asia")
    page.locator(".chip.accept.pending").wait_for()
    visit.type("Cats")
    assert page.locator(".chip").count() == 0
    page.locator("#pending", has_text="1 decision on another text").wait_for()
    page.get_by_role("button", name="Show", exact=True).click()
    visit.ranked(text)
    page.locator(".chip.accept.pending").wait_for()
    visit.press("Escape", "u")
    visit.settled(before)
    assert visit.sequence == before


def test_more_labels_digits_and_words_in_any_order(visit):
    page = visit.page
    text = "Forest fires and climate change in Finland"
    visit.type(text)
    first = visit.names
    visit.press("Escape", "m")
    page.wait_for_function("() => document.querySelectorAll('.row').length === 50")
    assert visit.names[:10] == first
    visit.press("0", "9")
    assert page.locator(".row.is-accepted .pick").all_text_contents() == [first[8], first[9]]
    visit.press("/")
    page.keyboard.type("chan clim")
    page.wait_for_function("() => document.querySelector('[role=combobox]').dataset.shown === 'chan clim'")
    names = page.locator("[role=option] .option-name").all_text_contents()
    assert "climate changes" in names
    # The options have the order of the text's own scores; those in the list come last.
    asked = visit.post("v1/labels", {"text": text, "query": "chan clim", "limit": 30})["labels"]
    expected = sorted((entry["name"] for entry in asked), key=lambda name: name in first)[:8]
    assert names[: len(expected)] == expected
    visit.press("Shift+Enter")
    page.locator(".chip.add", has_text="chan clim").wait_for()
    visit.press("Escape", "u", "u", "u")
    visit.settled(0)


def test_slash_adds_a_label_to_a_text_without_labels(visit):
    page = visit.page
    page.locator("#text").fill("zzzz qqqq")
    page.get_by_text("No word of this text votes").wait_for()
    visit.press("Escape", "/")
    page.keyboard.type("unheard of")
    assert page.locator("#text").input_value() == "zzzz qqqq"
    visit.press("Shift+Enter")
    page.locator(".chip.add", has_text="unheard of").wait_for()
    visit.press("Escape", "u")
    visit.settled(0)


def test_a_queue_sends_a_correction_for_each_text(visit, stage_of_titles, tmp_path):
    page, before = visit.page, visit.sequence
    titles = [text for text, _ in stage_of_titles.rows[300:330] if len(visit.rank(text)) > 2][:4]
    file = tmp_path / "four.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in titles))
    visit.open("queue")
    page.locator("#file").set_input_files(file)
    for title in titles:
        page.wait_for_function("(text) => document.querySelector('#text')?.value === text", arg=title)
        visit.ranked(title)
        visit.press("1")
        page.wait_for_timeout(300)
        visit.press("2", "Enter")
    visit.settled(before + 4)
    assert visit.sequence == before + 4
    assert all(len(record_of(visit, title)[0]["accepted"]) == 2 for title in titles)
