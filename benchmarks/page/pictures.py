"""Take pictures of the page for the documentation: each state, light, dark, on a phone and at zoom."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abound import Bands, Tagger
from benchmarks.page import shared
from benchmarks.page.stage import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Act = Callable[[Page], None]

TITLE = "Forest fires and climate change in the boreal zone of Finland"
LIGHT: dict[str, Any] = {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"}
LOW: dict[str, Any] = {"viewport": {"width": 1200, "height": 440}, "color_scheme": "light"}
DARK: dict[str, Any] = {**LIGHT, "color_scheme": "dark"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
}  # fmt: skip
ZOOM: dict[str, Any] = {"viewport": {"width": 600, "height": 400}, "device_scale_factor": 2}
ZOOM_400: dict[str, Any] = {"viewport": {"width": 300, "height": 200}, "device_scale_factor": 4}
FORCED: dict[str, Any] = {**DARK, "forced_colors": "active"}
CORRECTIONS = 400
COLOURS = 256
TABLE = (
    b"id,title,year\n1,Wooden boats of the archipelago,1990\n2,Climate change and forest fires,2021\n"
    b"3,A history of the violin,2004\n4,Teaching mathematics to young children,2015\n"
)


def teach(address: str, rows: list[tuple[str, list[str]]]) -> None:
    """Learn rows one by one, as corrections of people, so that the page has content; make shared queues."""
    for i, (text, labels) in enumerate(rows):
        shared.post(address, "v1/learn", {"text": text, "added": labels}, shared.PEOPLE[i % 2])
    shared.make(address)


def first_visit(page: "Page") -> None:
    page.wait_for_timeout(500)


def tag(page: "Page") -> None:
    page.locator("#text").fill(TITLE)
    page.wait_for_selector(".row")
    page.wait_for_timeout(500)


def correct(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "1", "j", "j", "r", "/")
    page.keyboard.type("fire e")
    page.wait_for_selector("[role=option]")
    page.wait_for_timeout(500)


def learned(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "r", "j", "j", "a", "Enter")
    page.wait_for_selector(".moved")
    page.wait_for_timeout(300)


def tap(page: "Page") -> None:
    tag(page)
    page.evaluate("() => document.querySelector('.list-card').scrollIntoView()")
    page.locator(".row-why").nth(2).tap()
    page.wait_for_timeout(300)


def decide_small(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "1", "j")
    page.wait_for_timeout(300)


def open_file(page: "Page") -> None:
    visit("queue", ".drop")(page)
    page.locator("#file").set_input_files({"name": "books.csv", "mimeType": "text/csv", "buffer": TABLE})
    page.wait_for_selector(".queue-bar")
    page.wait_for_selector(".row")
    page.wait_for_timeout(500)


def new_label(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "/")
    page.keyboard.type("smoke of fores")
    page.wait_for_selector("[role=option]")
    page.wait_for_timeout(500)


def more(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "m")
    page.locator(".row").nth(20).wait_for()
    page.evaluate("() => document.querySelectorAll('.row')[6].scrollIntoView()")
    page.wait_for_timeout(300)


def unknown(page: "Page") -> None:
    page.locator("#text").fill("Xyzzy plugh")
    page.wait_for_function("() => document.querySelector('.state').textContent.includes('No word')")


def no_answer(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "1")
    page.route("**/v1/**", lambda route: route.abort())
    shared.press(page, "Enter")
    page.locator("#notice", has_text="does not answer").wait_for()
    page.wait_for_timeout(300)


def ask_key(page: "Page") -> None:
    page.get_by_role("button", name="Enter a key").click()
    page.wait_for_selector("dialog[open]")


def show_help(page: "Page") -> None:
    tag(page)
    shared.press(page, "Escape", "?")
    page.wait_for_selector("dialog[open]")


def decide_first(page: "Page") -> None:
    """Decide the first text of the file."""
    open_file(page)
    shared.press(page, "1", "Enter")
    page.get_by_text("2 of 4", exact=True).wait_for()


def list_texts(page: "Page") -> None:
    decide_first(page)
    shared.press(page, "s", "v")
    page.locator(".text-row").nth(3).wait_for()
    page.wait_for_timeout(500)


def finish_file(page: "Page") -> None:
    decide_first(page)
    shared.press(page, "s", "z", "1", "Enter")
    page.get_by_text("The end of the queue").wait_for()
    page.wait_for_timeout(500)


def decide_zoomed(page: "Page") -> None:
    decide_small(page)
    page.evaluate("() => document.querySelector('.row').scrollIntoView()")
    page.wait_for_timeout(300)


def visit(part: str, sign: str) -> "Act":
    """Return what opens a part of the page and waits for a sign of it."""

    def act(page: "Page") -> None:
        page.goto(page.url.partition("#")[0] + f"#/{part}")
        page.wait_for_selector(sign)
        page.wait_for_timeout(300)

    return act


def question(page: "Page") -> None:
    visit("history", ".log-entry")(page)
    page.locator(".log-acts button").first.click()
    page.wait_for_timeout(300)


def retire(page: "Page") -> None:
    visit("label?name=11855", ".votes tr")(page)
    page.get_by_role("button", name="Retire").click()
    page.wait_for_selector("dialog[open]")
    page.wait_for_timeout(300)


def gone(page: "Page") -> None:
    page.route("**/v1/label?**", lambda route: route.abort())
    visit("label?name=11855", "main .empty")(page)


# A name, the screen, and the actions. First those of a model that nobody has corrected.
EMPTY: "tuple[tuple[str, dict[str, Any], Act], ...]" = (
    ("labels-empty", LOW, visit("labels?query=zzz", "text=No label has")),
    ("progress-empty", LIGHT, visit("progress", "main .empty")),
    ("history-empty", LOW, visit("history", "text=Nothing was taught")),
)
# `learned` comes last, since it changes the model.
PICTURES: "tuple[tuple[str, dict[str, Any], Act], ...]" = (
    ("first-visit", LIGHT, first_visit),
    ("tag-light", LIGHT, tag),
    ("tag-dark", DARK, tag),
    ("tag-phone", {**PHONE, "color_scheme": "light"}, tag),
    ("why-phone", {**PHONE, "color_scheme": "dark"}, tap),
    ("correct", LIGHT, correct),
    ("new-label", LIGHT, new_label),
    ("more", LIGHT, more),
    ("unknown", LIGHT, unknown),
    ("help", LIGHT, show_help),
    ("queue-start", LIGHT, visit("queue", ".shared .start-card")),
    ("queue", LIGHT, open_file),
    ("queue-dark", DARK, open_file),
    ("queue-phone", {**PHONE, "color_scheme": "light"}, open_file),
    ("queue-texts", LIGHT, list_texts),
    ("queue-end", LIGHT, finish_file),
    ("shared", LIGHT, shared.work),
    ("shared-passed", LIGHT, shared.lose),
    ("shared-review", LIGHT, shared.review),
    ("shared-texts", LIGHT, shared.list_texts),
    ("shared-end", LIGHT, shared.finish),
    ("labels", LIGHT, visit("labels?sort=rejected", ".label-table")),
    ("label", LIGHT, visit("label?name=11855", ".votes tr")),
    ("retire", LIGHT, retire),
    ("gone", LOW, gone),
    ("word", DARK, visit("word?word=fires", ".votes tr")),
    ("progress", DARK, visit("progress", ".chart")),
    ("history", LIGHT, visit("history", ".log-entry")),
    ("history-phone", {**PHONE, "color_scheme": "dark"}, visit("history", ".log-entry")),
    ("undo", LIGHT, question),
    ("zoom", ZOOM, decide_small),
    ("zoom-400", ZOOM_400, decide_zoomed),
    ("forced-colours", FORCED, decide_small),
    ("no-answer", LIGHT, no_answer),
    ("learned", LIGHT, learned),
)
KEYS: "tuple[tuple[str, dict[str, Any], Act], ...]" = (("key", LIGHT, ask_key),)
BANDS: "tuple[tuple[str, dict[str, Any], Act], ...]" = (("bands", LIGHT, tag),)


def save(picture: bytes, path: Path) -> None:
    """Write a picture with a palette, which makes it a third as large."""
    from PIL import Image

    full = Image.open(io.BytesIO(picture)).convert("RGB")
    full.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def take(
    browser: "Browser", address: str, folder: Path, pictures: "tuple[tuple[str, dict[str, Any], Act], ...]"
) -> list[Path]:
    """Take pictures; return their files."""
    taken = []
    for name, screen, act in pictures:
        context = browser.new_context(**screen, reduced_motion="reduce", extra_http_headers={shared.HEADER: shared.ME})
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#text")
        act(page)
        taken.append(folder / f"page-{name}.png")
        save(page.screenshot(caret="hide"), taken[-1])
        context.close()
    return taken


def with_bands(model: Path, rows: list[tuple[str, list[str]]]) -> Path:
    """Write the model with bands that were learned from rows; return its path."""
    tagger = Tagger.load(model)
    tagger.bands = Bands(0.6)
    tagger.feedback_many(*zip(*rows, strict=True))
    path = model.with_name("finna-bands")
    tagger.save(path)
    return path


def take_all(browser: "Browser", model: Path, rows: list[tuple[str, list[str]]], folder: Path) -> list[Path]:
    """Start a server for each kind of picture, and take all of them; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    home = model.parent / "home"
    with Server(model, "--state", str(home), "--trust-proxy", "--user-header", shared.HEADER) as server:
        taken = take(browser, server.address, folder, EMPTY)
        teach(server.address, rows[:CORRECTIONS])
        taken += take(browser, server.address, folder, PICTURES)
    locked = model.parent / "locked"
    command = [sys.executable, "-m", "abound", "keys", "add", str(locked), "the library", "--scope", "learn"]
    with Server(model, "--state", str(locked)):
        pass  # it makes the home
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with Server(model, "--state", str(locked)) as server:
        taken += take(browser, server.address, folder, KEYS)
    banded = with_bands(model, rows)
    with Server(banded, "--state", str(model.parent / "banded")) as server:
        return taken + take(browser, server.address, folder, BANDS)
