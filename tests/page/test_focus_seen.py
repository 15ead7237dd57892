"""The focus is never covered: by the bar of decisions, by a notice, or by the edge of a list that scrolls."""

import pytest

from tests.page.accessible import COVERED, FOCUSED, WINDOWS, windows
from tests.page.test_queue import TABLE, at, choose
from tests.page.test_shared_queue import join, make, shows

pytestmark = [pytest.mark.browser, pytest.mark.data]
TITLE = "Forest fires and climate change in Finland"
MOST = 400  # more than any view has


def tag(visit):
    visit.open()
    visit.type(TITLE)
    visit.press("Escape", "a", "j", "a")  # the bar is there


def file_queue(visit):
    visit.open("queue")
    choose(visit.page, "essays.csv", TABLE)
    at(visit, 1)
    visit.press("a", "v")
    visit.page.wait_for_selector(".text-row")


def shared_queue(visit):
    visit.open()
    name = f"seen {visit.page.viewport_size['width']}"
    make(visit, name, [f"Wooden boats {i}" for i in range(30)], guidelines="No places.\n" * 20)
    join(visit, name)
    assert shows(visit) is not None
    visit.press("a", "v")
    visit.page.wait_for_selector(".text-row")


def view(part, sign):
    def open_view(visit):
        visit.post("v1/learn", {"text": f"{TITLE}, for {part}", "added": ["11855"]})
        visit.open(part)
        visit.page.wait_for_selector(sign)

    return open_view


SIZES = ("phone", "light", "200%", "400%")
VIEWS = {
    "tag": tag,
    "queue": file_queue,
    "shared queue": shared_queue,
    "labels": view("labels", ".label-table"),
    "label": view("label?name=11855", ".votes"),
    "word": view("word?word=fires", ".votes"),
    "progress": view("progress", ".chart"),
    "history": view("history", ".log-entry"),
}


def covered(page, key):
    """Walk through the whole view with a key; return how many elements had the focus, and those that were covered."""
    found, seen = [], 0
    for _ in range(MOST):
        page.keyboard.press(key)
        here, is_covered, first = page.evaluate(
            f"""() => {{
                const first = document.activeElement === window.walkedFrom;
                window.walkedFrom ??= document.activeElement;
                return [({FOCUSED})(), ({COVERED})(), first];
            }}"""
        )
        if first:
            break
        seen += 1
        if is_covered:
            found.append(here)
    page.evaluate("() => { window.walkedFrom = undefined; }")
    return seen, found


@pytest.mark.parametrize("screen", windows("400%", others=SIZES))
@pytest.mark.parametrize("view", VIEWS)
def test_the_focus_is_never_covered(open_visit, screen, view):
    visit = open_visit(**WINDOWS[screen])
    page = visit.page
    VIEWS[view](visit)
    for key in ("Tab", "Shift+Tab"):
        seen, found = covered(page, key)
        assert seen > 10
        assert found == [], key


@pytest.mark.parametrize("screen", windows("400%", others=SIZES))
@pytest.mark.parametrize("view", ["tag", "history"])
def test_a_notice_gives_way_to_the_focus(open_visit, screen, view):
    visit = open_visit(**WINDOWS[screen])
    page = visit.page
    VIEWS[view](visit)
    page.evaluate("async () => (await import('./static/notice.js')).notice('A file was read.', { stays: true })")
    for key in ("Tab", "Shift+Tab"):
        assert covered(page, key)[1] == [], key


@pytest.mark.parametrize("screen", windows("400%", others=SIZES))
def test_a_label_that_the_keys_move_to_is_never_covered(open_visit, screen):
    visit = open_visit(**WINDOWS[screen])
    tag(visit)
    for _ in range(9):
        visit.press("j")
        assert not visit.page.evaluate(COVERED), visit.page.evaluate(FOCUSED)
