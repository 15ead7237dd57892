"""Take pictures of the page for the documentation: each state, light, dark, on a phone and at zoom."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "Forest fires and climate change in the boreal zone of Finland"
LIGHT: dict[str, Any] = {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"}
DARK: dict[str, Any] = {**LIGHT, "color_scheme": "dark"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
}  # fmt: skip
ZOOM: dict[str, Any] = {"viewport": {"width": 600, "height": 400}, "device_scale_factor": 2}
FORCED: dict[str, Any] = {**DARK, "forced_colors": "active"}
CORRECTIONS = 400
TABLE = (
    b"id,title,year\n1,Wooden boats of the archipelago,1990\n2,Climate change and forest fires,2021\n"
    b"3,A history of the violin,2004\n4,Teaching mathematics to young children,2015\n"
)
QUEUE = {
    "name": "New books",
    "guidelines": "At most five subjects a title. Prefer the narrower subject.",
    "texts": [{"text": line.split(",")[1]} for line in TABLE.decode().splitlines()[1:]],
}


def post(address: str, path: str, body: dict[str, Any]) -> None:
    """Send a request to our own server."""
    request = urllib.request.Request(  # noqa: S310  our own server
        f"{address}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    urllib.request.urlopen(request).close()  # noqa: S310


def teach(address: str, rows: list[tuple[str, list[str]]]) -> None:
    """Learn rows one by one, as corrections of people, so that the page has content; make a shared queue."""
    for text, labels in rows:
        post(address, "v1/learn", {"text": text, "added": labels})
    post(address, "v1/queues", QUEUE)


def first_visit(page: "Page") -> None:
    page.wait_for_timeout(500)


def tag(page: "Page") -> None:
    page.locator("#text").fill(TITLE)
    page.wait_for_selector(".row")
    page.wait_for_timeout(500)


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def correct(page: "Page") -> None:
    tag(page)
    press(page, "Escape", "1", "j", "j", "r", "/")
    page.keyboard.type("fire e")
    page.wait_for_selector("[role=option]")
    page.wait_for_timeout(500)


def learned(page: "Page") -> None:
    tag(page)
    press(page, "Escape", "r", "j", "j", "a", "Enter")
    page.wait_for_selector(".moved")
    page.wait_for_timeout(300)


def tap(page: "Page") -> None:
    tag(page)
    page.evaluate("() => document.querySelector('.list-card').scrollIntoView()")
    page.locator(".row-why").nth(2).tap()
    page.wait_for_timeout(300)


def decide_small(page: "Page") -> None:
    tag(page)
    press(page, "Escape", "1", "j")
    page.wait_for_timeout(300)


def open_file(page: "Page") -> None:
    visit("queue", ".drop")(page)
    page.locator("#file").set_input_files({"name": "books.csv", "mimeType": "text/csv", "buffer": TABLE})
    page.wait_for_selector(".queue-bar")
    page.wait_for_selector(".row")
    page.wait_for_timeout(500)


def visit(part: str, sign: str) -> Callable[["Page"], None]:
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


# A name, the screen, and the actions. `learned` comes last, since it changes the model.
PICTURES: tuple[tuple[str, dict[str, Any], Callable[["Page"], None]], ...] = (
    ("first-visit", LIGHT, first_visit),
    ("tag-light", LIGHT, tag),
    ("tag-dark", DARK, tag),
    ("tag-phone", {**PHONE, "color_scheme": "light"}, tag),
    ("why-phone", {**PHONE, "color_scheme": "dark"}, tap),
    ("correct", LIGHT, correct),
    ("queue-start", LIGHT, visit("queue", ".drop")),
    ("queue", LIGHT, open_file),
    ("queue-phone", {**PHONE, "color_scheme": "light"}, open_file),
    ("labels", LIGHT, visit("labels?sort=rejected", ".label-table")),
    ("label", LIGHT, visit("label?name=11855", ".votes tr")),
    ("retire", LIGHT, retire),
    ("gone", LIGHT, gone),
    ("word", DARK, visit("word?word=fires", ".votes tr")),
    ("progress", DARK, visit("progress", ".chart")),
    ("history", LIGHT, visit("history", ".log-entry")),
    ("history-phone", {**PHONE, "color_scheme": "dark"}, visit("history", ".log-entry")),
    ("undo", LIGHT, question),
    ("zoom", ZOOM, decide_small),
    ("forced-colours", FORCED, decide_small),
    ("learned", LIGHT, learned),
)


def take(browser: "Browser", address: str, folder: Path) -> list[Path]:
    """Take all pictures; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = []
    for name, screen, act in PICTURES:
        context = browser.new_context(**screen, reduced_motion="reduce")
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#text")
        act(page)
        taken.append(folder / f"page-{name}.png")
        page.screenshot(path=str(taken[-1]), caret="hide")
        context.close()
    return taken
