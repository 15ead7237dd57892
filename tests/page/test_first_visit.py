"""A first visit: what the page is for, examples to try, the model, and what its figures mean."""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]


def test_a_first_visit_is_introduced(visit):
    page, model = visit.page, visit.get("v1/model")
    intro = page.locator(".intro")
    assert "suggests its labels" in intro.text_content()
    assert intro.locator(".example").all_text_contents() == model["examples"]
    assert len(model["examples"]) == 3
    assert model["name"] in intro.text_content()
    assert re.search(r"written on \d+ \w+ \d{4}", intro.text_content())
    intro.get_by_text("How it works").click()
    assert intro.get_by_text("is the probability that the label is right").is_visible()
    assert model["name"] in page.locator("#foot").text_content()
    intro.locator(".example").nth(1).click()
    visit.ranked(model["examples"][1])
    assert intro.count() == 0
    assert all(words.endswith("% likely") for words in page.locator(".row > .figure").all_text_contents())
    assert page.evaluate("() => document.activeElement.className") == "pick"
    visit.press("1", "u")
    page.get_by_role("button", name="Clear").click()
    intro.wait_for()


def test_the_counts_at_the_bottom_are_those_of_now(visit):
    page = visit.page
    rows, labels = (visit.get("v1/model")[name] for name in ("rows", "labels"))
    visit.type("A text with a label that nobody has seen")
    visit.press("Escape", "/")
    page.keyboard.type("never seen before")
    page.wait_for_selector("[role=option].is-new")
    visit.press("Enter", "Enter")
    page.locator(".chip.learned").wait_for(timeout=30_000)
    page.locator("#foot", has_text=f"{rows + 1:,} texts · {labels + 1:,} labels").wait_for()


def test_a_notice_goes_after_a_while(visit):
    page = visit.page
    page.clock.install()
    page.reload()
    visit.open()
    page.evaluate("async () => (await import('./static/notice.js')).notice('A file was read.')")
    assert page.locator("#notice").is_visible()
    page.clock.fast_forward(30_000)
    page.wait_for_selector("#notice", state="hidden")
    # One that tells of a condition stays until it is over.
    page.route("**/v1/rank", lambda route: route.abort())
    page.locator("#text").fill("Boats")
    page.wait_for_selector("#notice")
    page.clock.fast_forward(30_000)
    assert page.locator("#notice").is_visible()
    page.unroute("**/v1/rank")
    page.clock.fast_forward(5_000)
    page.wait_for_selector("#notice", state="hidden")
    visit.problems.clear()


def test_a_wrong_key_and_no_key_get_different_words(visit):
    page = visit.page
    body = '{"type": "about:blank", "title": "Unauthorized", "status": 401, "detail": "a key is needed"}'
    page.route(
        "**/v1/rank", lambda route: route.fulfill(status=401, content_type="application/problem+json", body=body)
    )
    page.locator("#text").fill("Boats")
    page.locator("#notice", has_text="The server requires a key.").wait_for()
    page.get_by_role("button", name="Enter a key").click()
    page.locator("#key").fill("wrong")
    visit.press("Enter")
    page.locator("#notice", has_text="The server does not know this key.").wait_for()
    visit.problems.clear()
