"""Accessibility: axe-core, the keyboard only, a phone, reduced motion."""

import pytest

from tests.page.accessible import FOCUSED, WINDOWS, faults, windows

pytestmark = [pytest.mark.browser, pytest.mark.data]
TITLE = "Forest fires and climate change in Finland"


def bench_states(visit):
    page = visit.page
    visit.open()
    yield "empty"
    visit.type(TITLE)
    yield "ranked"
    visit.press("Escape", "1", "j", "r")
    yield "decided"
    visit.press("w")
    yield "reasons"
    visit.press("Escape", "m")
    page.locator(".row").nth(11).wait_for()
    yield "more labels"
    visit.press("/")
    page.keyboard.type("clim")
    page.wait_for_selector("[role=option]")
    yield "adding"
    visit.press("Escape", "Escape")
    for button in ("#open-help", "#open-key"):
        page.locator(button).click()
        page.wait_for_selector("dialog[open]")
        yield button
        visit.press("Escape")
    visit.press("u", "u")


def queue_states(visit):
    page = visit.page
    visit.open("queue")
    page.wait_for_selector(".drop")
    yield "no queue"
    table = b"id,title,year\n1,Wooden boats,1990\n2,Fast cars,1991\n"
    page.locator("#file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": table})
    page.wait_for_selector(".queue-bar")
    page.wait_for_selector(".row")
    yield "queue"


def view_states(visit):
    page = visit.page
    for part, sign in (
        ("labels", ".label-table"),
        ("label?name=11855", ".votes"),
        ("word?word=fires", ".votes"),
        ("progress", ".chart"),
        ("history", ".log-entry"),
    ):
        visit.open(part)
        page.wait_for_selector(sign)
        yield part
        if part.startswith("label?"):
            page.get_by_role("button", name="Rename").click()
            yield "renaming"
            page.get_by_role("button", name="Merge").click()
            yield "merging"
            page.get_by_role("button", name="Retire").click()
        elif part == "progress":
            page.get_by_text("As a table").click()
            yield "progress as a table"
        elif part == "history":
            page.locator(".filter-card").evaluate("(card) => { card.open = true; }")
            yield "filters"
            page.locator(".log-acts button").first.click()
        if page.locator("dialog").count() or part in ("history", "label?name=11855"):
            page.wait_for_selector("dialog[open]")
            yield f"question of {part}"
            visit.press("Escape")


@pytest.mark.parametrize("screen", windows("light"))
@pytest.mark.parametrize("states", [bench_states, queue_states, view_states])
def test_axe_finds_nothing_in_any_state(open_visit, axe, screen, states):
    visit = open_visit(**WINDOWS[screen])
    visit.post("v1/learn", {"text": "A book of forest fires", "added": ["11855"]})
    page = visit.page
    for state in states(visit):
        assert faults(page, axe) == [], state


def test_forced_colours_show_what_is_pressed_and_current(open_visit):
    visit = open_visit(forced_colors="active")
    page = visit.page
    visit.open()
    visit.type(TITLE)
    visit.press("Escape", "a")
    looks = "(x) => ['backgroundColor', 'borderBottom', 'outline'].map((name) => getComputedStyle(x)[name]).join()"

    def look(selector):
        return page.locator(selector).first.evaluate(looks)

    assert look(".act.accept[aria-pressed=true]") != look(".act.accept[aria-pressed=false]")
    assert look(".tabs a[aria-current]") != look(".tabs a:not([aria-current])")
    assert look(".row.is-current") != look(".row:not(.is-current)")
    assert look("#pending .primary") != look("#pending .button:not(.primary)")
    visit.press("/")
    page.keyboard.type("clim")
    page.wait_for_selector("[role=option]")
    assert look("[role=option][aria-selected=true]") != look("[role=option][aria-selected=false]")


def walk(page, most=60):
    """Press Tab until the focus returns to the start; return the focused elements."""
    found = []
    for _ in range(most):
        page.keyboard.press("Tab")
        here = page.evaluate(FOCUSED)
        if found and here == found[0]:  # others may have the same words, as a label and one that votes for it
            break
        found.append(here)  # nothing between the last and the first
    return found


def test_every_action_has_its_place_in_the_tab_order(visit):
    page = visit.page
    visit.type("Forest fires and climate change in Finland")
    found = " | ".join(walk(page))
    for action in ("A skip", "A Tag", "Queue", "Labels", "Progress", "open-key", "open-help", "TEXTAREA text",
                   "Clear", "Add a label", "forest fires", "Accept forest fires", "Reject forest fires",
                   "Details of forest fires"):  # fmt: skip
        assert action in found, found
    # The arrows move among the labels, and take the actions along.
    page.locator(".pick").first.focus()
    visit.press("ArrowDown", "Tab")
    assert page.evaluate(FOCUSED) == f"BUTTON Accept {visit.names[1]}"
    visit.press("Enter")
    page.locator(".chip.accept.pending").wait_for()
    visit.press("u")
    visit.press("End")
    visit.open("label?name=11855")
    page.wait_for_selector(".votes")
    found = " | ".join(walk(page, 400))
    for action in ("Rename", "Merge", "Retire"):
        assert f"BUTTON {action}" in found


def test_single_keys_can_be_turned_off(visit):
    page = visit.page
    visit.type("Forest fires and climate change in Finland")
    visit.press("Escape", "?")
    page.locator("#keys-on").uncheck()
    visit.press("Escape", "a")
    assert page.locator(".chip").count() == 0
    page.locator("#open-help").click()
    page.locator("#keys-on").check()
    visit.press("Escape")
    page.locator(".pick").first.focus()
    visit.press("a")
    page.locator(".chip.accept").wait_for()
    visit.press("u")


def test_targets_on_a_phone_are_large(open_visit):
    visit = open_visit("phone")
    visit.open()
    visit.type("Forest fires and climate change in Finland")
    for selector in (".act", ".tabs a", ".quiet:visible", ".completion .input"):
        for box in (found.bounding_box() for found in visit.page.locator(selector).all()):
            assert box["height"] >= 40, (selector, box)
            assert box["width"] >= 40, (selector, box)


def test_nothing_jumps_while_typing_and_deciding(visit):
    page = visit.page
    visit.type("Forest")
    page.evaluate(
        """() => {
            window.shift = 0;
            new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shift += entry.value; }))
                .observe({ type: 'layout-shift', buffered: false });
        }"""
    )
    page.locator("#text").focus()
    page.keyboard.press("End")
    page.keyboard.type(" fires and climate change in Finland", delay=30)
    visit.press("Escape", "j", "a", "u")
    page.wait_for_timeout(300)
    assert page.evaluate("window.shift") < 0.1


def test_a_session_by_roles_and_names_alone(visit):
    """What a screen reader knows is enough to rank, decide, send, and find the record."""
    page, before = visit.page, visit.sequence
    text = "Forest fires in the mountains of Norway"
    page.get_by_role("textbox", name="Text to rank").fill(text)
    visit.ranked(text)
    first = visit.names[0]
    page.get_by_role("button", name=f"Accept {first}", exact=True).click()
    page.get_by_role("button", name=f"Accept {first}", exact=True, pressed=True).wait_for()
    page.get_by_role("region", name="Decisions").get_by_role("button", name="Done").click()
    page.wait_for_function("() => document.getElementById('spoken').textContent !== ''")
    page.get_by_role("region", name="Decisions").get_by_text("Learned.").wait_for()
    assert visit.sequence == before + 1
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="History").click()
    page.get_by_role("heading", name="History", level=1).wait_for()
    entry = page.get_by_role("main").get_by_role("listitem").filter(has_text=text)
    entry.get_by_role("link", name=first).wait_for()
    entry.get_by_role("button", name="Undo").click()
    page.get_by_role("dialog", name="Undo this correction?").get_by_role("button", name="Cancel").click()
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Labels").click()
    page.get_by_role("searchbox", name="Find a label").fill(first)
    page.get_by_role("rowheader", name=first).first.wait_for()


def test_a_session_by_keys_alone(visit):
    page, before = visit.page, visit.sequence
    text = "Forest fires in the mountains of Sweden"
    page.keyboard.press("Escape")
    visit.press("e")
    page.keyboard.type(text)
    visit.ranked(text)
    visit.press("Escape", "1", "Enter")
    page.locator("#pending", has_text="Learned.").wait_for()
    assert visit.sequence == before + 1
    visit.press("h")
    page.locator(".log-entry", has_text=text).wait_for()
    for _ in range(40):
        visit.press("Tab")
        if page.evaluate(FOCUSED) == "BUTTON Undo":
            break
    visit.press("Enter")
    page.get_by_role("dialog", name="Undo this correction?").wait_for()
    visit.press("Escape")
    assert page.evaluate(FOCUSED) == "BUTTON Undo"
    visit.press("g")
    page.locator(".verdict").wait_for()
    visit.press("l")
    page.locator(".label-table").wait_for()


@pytest.mark.parametrize("screen", windows("phone", others=["light"]))
def test_no_target_is_too_small_or_too_close_to_another(open_visit, axe, screen):
    visit = open_visit(**WINDOWS[screen])
    visit.post("v1/learn", {"text": "A book of forest fires", "added": ["11855"]})
    page, found = visit.page, {}
    for part, sign in (
        ("tag", ".text-card"),
        ("queue", ".drop"),
        ("labels", ".label-table"),
        ("label?name=11855", ".votes"),
        ("word?word=forest", ".votes"),
        ("progress", ".chart"),
    ):
        visit.open(part)
        page.wait_for_selector(sign)
        if part == "tag":
            visit.type(TITLE)
        page.evaluate(axe)
        run = "() => axe.run(document, { runOnly: ['target-size'] })"
        nodes = [node["html"][:150] for rule in page.evaluate(run)["violations"] for node in rule["nodes"]]
        if nodes:
            found[part] = nodes
    assert found == {}
