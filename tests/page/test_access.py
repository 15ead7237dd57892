"""Accessibility: axe-core, the keyboard only, a phone, reduced motion."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]
AXE = "4.14.0"
FOCUSED = """() => {
    const element = document.activeElement;
    return element === document.body ? '' : `${element.tagName} ${element.id || element.getAttribute('aria-label') || element.textContent.trim()}`;
}"""  # noqa: E501


@pytest.fixture(scope="session")
def axe():
    """axe-core's script, fetched once from npm."""
    kept = Path(".cache") / f"axe-core-{AXE}.js"
    if not kept.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to fetch axe-core with")
        kept.parent.mkdir(exist_ok=True)
        command = [npm, "pack", f"axe-core@{AXE}", "--silent", "--pack-destination", str(kept.parent)]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if found.returncode != 0:
            pytest.skip(f"npm cannot fetch axe-core: {found.stderr.strip()[-200:]}")
        packed = kept.parent / f"axe-core-{AXE}.tgz"
        with tarfile.open(packed) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            kept.write_bytes(member.read())
        packed.unlink()
    return kept.read_text(encoding="utf-8")


def serious(page, axe):
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        (rule["id"], rule["impact"], [node["html"][:200] for node in rule["nodes"]][:3])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


def states(visit, file):
    """Yield each state of the page that is checked."""
    page = visit.page
    visit.open()
    yield "empty"
    visit.type("Forest fires and climate change in Finland")
    page.locator(".pick").nth(1).click()
    yield "ranked"
    visit.press("a", "j", "r", "/")
    page.keyboard.type("clim")
    page.wait_for_selector("[role=option]")
    yield "deciding"
    visit.press("Escape")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    page.locator("#open-help").click()
    page.wait_for_selector("dialog[open]")
    yield "help"
    visit.press("Escape")
    page.locator("#open-key").click()
    yield "key"
    visit.press("Escape")
    visit.open("queue")
    page.wait_for_selector(".drop")
    yield "no queue"
    page.locator("#file").set_input_files(file)
    page.wait_for_selector(".queue-bar")
    yield "queue"
    page.get_by_role("button", name="Close file").click()
    for part, sign in (("labels", ".label-grid li"), ("label?name=11855", ".votes"), ("word?word=fires", ".votes")):
        visit.open(part)
        page.wait_for_selector(sign)
        yield part
    visit.open("progress")
    page.wait_for_selector(".facts")
    yield "progress"


@pytest.mark.parametrize("screen", ["light", "dark", "phone"])
def test_axe_finds_nothing_serious(open_visit, axe, screen, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"text": "Boats"}) + "\n" + json.dumps({"text": "Cars"}) + "\n")
    visit = open_visit(screen)
    visit.post("v1/learn", {"text": "A book of forest fires", "added": ["11855"]})
    for state in states(visit, file):
        assert serious(visit.page, axe) == [], state
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state


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
