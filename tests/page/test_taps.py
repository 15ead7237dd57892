"""Taps and clicks hit what they aim at: nothing moves under a finger or a pointer."""

import random

import pytest

from tests.page.accessible import windows

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "Forest fires and climate change in Finland"
# The buttons of the rows that can be seen and are not covered.
SEEN = """() => [...document.querySelectorAll('.row button')].flatMap((button) => {
    const box = button.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    if (!box.width || document.elementFromPoint(x, y) !== button) return [];
    return [{ x, y, label: button.closest('.row').dataset.label, kind: button.className.split(' ').at(-1) }];
})"""
RECORD = """() => {
    window.hits = [];
    addEventListener('click', (event) => {
        const button = event.target.closest('button');
        const row = event.target.closest('.row');
        const hit = row && button ? [row.dataset.label, button.className.split(' ').at(-1)] : [event.target.className];
        window.hits.push(hit);
    }, true);
}"""
PRESSED = """() => [...document.querySelectorAll('.row')].flatMap((row) => ['accept', 'reject']
    .filter((kind) => row.querySelector(`.act.${kind}`).getAttribute('aria-pressed') === 'true')
    .map((kind) => `${kind} ${row.dataset.label}`)).sort()"""
SIZES = {"phone": (390, 780), "narrow": (640, 800), "wide": (1280, 800)}


def aim_and_hit(visit, tap, times, seed=1):
    """Tap on random buttons of rows at their place; return the aims that were missed and the decisions shown."""
    page, chance = visit.page, random.Random(seed)
    page.evaluate(RECORD)
    missed, pressed = [], {}
    for _ in range(times):
        if chance.random() < 0.2:
            page.evaluate("(y) => scrollTo({ top: y, behavior: 'instant' })", chance.randrange(400))
        aim = chance.choice(page.evaluate(SEEN))
        page.evaluate("() => { window.hits.length = 0; }")
        tap(aim["x"], aim["y"])
        page.wait_for_function("() => window.hits.length")
        if page.evaluate("() => window.hits") != [[aim["label"], aim["kind"]]]:
            missed.append((aim, page.evaluate("() => window.hits")))
        if aim["kind"] in ("accept", "reject"):
            pressed[aim["label"]] = None if pressed.get(aim["label"]) == aim["kind"] else aim["kind"]
        if page.locator("dialog[open]").count():
            page.locator("dialog[open] button").last.click()
            page.wait_for_selector("dialog", state="detached")
    return missed, sorted(f"{kind} {label}" for label, kind in pressed.items() if kind)


@pytest.mark.parametrize("times", [30, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("screen", list(SIZES))
def test_every_tap_and_click_hits_its_aim(open_visit, screen, times):
    width, height = SIZES[screen]
    visit = open_visit("phone" if screen == "phone" else "light")
    page = visit.page
    page.set_viewport_size({"width": width, "height": height})
    visit.open()
    visit.type(TEXT)

    def click(x, y):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.up()

    missed, wanted = aim_and_hit(visit, page.touchscreen.tap if screen == "phone" else click, times)
    assert missed == []
    assert page.evaluate(PRESSED) == wanted
    assert visit.sequence == 0  # nothing is sent before Done


@pytest.mark.parametrize("screen", ["phone", "light"])
def test_deciding_and_hovering_move_nothing(open_visit, screen):
    visit = open_visit(screen)
    page = visit.page
    if screen == "light":
        page.set_viewport_size({"width": 640, "height": 800})
    visit.open()
    visit.type(TEXT)
    places = "() => [...document.querySelectorAll('.row')].map((row) => row.getBoundingClientRect().y)"
    before = page.evaluate(places)
    buttons = page.locator(".row .act:visible")
    for i in (1, 2, 4, 5):
        if screen == "phone":
            buttons.nth(i).tap()
        else:
            buttons.nth(i).hover()
            assert page.evaluate(places) == before
            buttons.nth(i).click()
        assert page.evaluate("() => scrollY") == 0
        assert page.evaluate(places) == before
    assert page.locator("dialog").count() == 0


def test_why_is_a_sheet_on_a_phone_that_moves_nothing(open_visit):
    visit = open_visit("phone")
    page = visit.page
    visit.open()
    visit.type(TEXT)
    places = "() => [...document.querySelectorAll('.row')].map((row) => row.getBoundingClientRect().y)"
    before = page.evaluate(places)
    row = page.locator(".row").nth(1)
    row.get_by_role("button", name="Why").tap()
    sheet = page.locator("dialog.sheet[open]")
    assert sheet.locator(".why-name").text_content() == visit.names[1]
    assert page.evaluate(places) == before
    for close in (lambda: sheet.get_by_role("button", name="Close").tap(), lambda: page.touchscreen.tap(195, 60),
                  lambda: visit.press("Escape")):  # fmt: skip
        close()
        page.wait_for_selector("dialog", state="detached")
        assert page.evaluate(places) == before
        row.get_by_role("button", name="Why").tap()
        sheet.wait_for()
    visit.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    visit.press("w")
    sheet.locator(".votes tbody tr").first.wait_for()


def test_the_reasons_are_those_of_the_current_label_wherever_the_pointer_is(visit):
    page = visit.page
    visit.type(TEXT)
    visit.press("Escape")
    page.locator(".row").nth(5).hover()
    assert page.locator(".row.is-current .pick").text_content() == visit.names[0]
    assert page.locator(".why-name").text_content() == visit.names[0]
    visit.press("a")
    assert page.locator(".row.is-accepted").evaluate_all("rows => rows.map((row) => row.dataset.label)") == [
        page.locator(".row").first.get_attribute("data-label")
    ]
    assert page.locator(".why-name").text_content() == visit.names[0]


# What of each row is clipped, covered or outside of it; a name of up to 24 letters must be readable.
ROWS = """() => [...document.querySelectorAll('.row')].map((row) => {
    const [box, pick] = [row.getBoundingClientRect(), row.querySelector('.pick')];
    const parts = [...row.querySelectorAll('.pick, .figure, .band, .moved, .act, .row-why')]
        .map((part) => part.getBoundingClientRect()).filter(({ width }) => width);
    const over = (a, b) => a !== b && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const isOutside = ({ left, right, top, bottom }) => left < box.left || right > box.right || top < box.top || bottom > box.bottom;
    return { label: row.dataset.label, height: box.height, name: pick.textContent, badges: row.querySelectorAll('.band, .moved').length,
        isCut: pick.scrollWidth > pick.clientWidth, isBad: parts.some((a) => isOutside(a) || parts.some((b) => over(a, b))) };
})"""  # noqa: E501


@pytest.mark.parametrize("width", windows(320, 640, 1200, others=[360, 390, 760, 900, 1024]))
def test_badges_leave_the_name_readable_and_the_row_as_high_as_it_was(open_visit, width):
    visit = open_visit("phone" if width < 640 else "light")
    page = visit.page
    page.set_viewport_size({"width": width, "height": 900})
    visit.open()
    visit.type(TEXT)

    def rows(wanted):
        found = page.evaluate(ROWS)
        assert [row for row in found if row["isBad"]] == []
        assert [row["name"] for row in found if row["isCut"] and len(row["name"]) <= 24] == []
        assert max(row["badges"] for row in found) == wanted
        return {row["label"]: row["height"] for row in found}

    before = rows(1)
    page.locator(".act.reject").nth(0).click()
    page.locator(".act.accept").nth(3).click()
    assert rows(1) == before
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector(".moved")
    after = rows(2)
    assert {label: before[label] for label in before.keys() & after} == {
        label: after[label] for label in before.keys() & after
    }
    if width > 736:
        assert len({*before.values(), *after.values()}) == 1
