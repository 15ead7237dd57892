"""Take pictures of the page for the documentation: light, dark and on a phone."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "Forest fires and climate change in the boreal zone of Finland"
WIDE: dict[str, Any] = {"viewport": {"width": 1200, "height": 800}, "device_scale_factor": 1}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
}  # fmt: skip
LESSONS = 400


def teach(address: str, rows: list[tuple[str, list[str]]]) -> None:
    """Learn rows one by one, as corrections of people, so that the page has content."""
    for text, labels in rows:
        body = json.dumps({"text": text, "added": labels}).encode()
        request = urllib.request.Request(  # noqa: S310  our own server
            f"{address}/v1/learn", body, {"Content-Type": "application/json"}, method="POST"
        )
        urllib.request.urlopen(request).close()  # noqa: S310


def tag(page: "Page") -> None:
    page.locator("#text").fill(TITLE)
    page.wait_for_selector(".row")
    page.wait_for_timeout(300)


def correct(page: "Page") -> None:
    tag(page)
    page.keyboard.press("Escape")
    for key in ("j", "a", "j", "r"):
        page.keyboard.press(key)
    page.keyboard.press("/")
    page.keyboard.type("fire e")
    page.wait_for_selector("[role=option]")
    page.wait_for_timeout(500)


def learned(page: "Page") -> None:
    tag(page)
    page.keyboard.press("Escape")
    for key in ("r", "j", "j", "a", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".moved")
    page.wait_for_timeout(300)


def label_details(page: "Page") -> None:
    page.goto(page.url.partition("#")[0] + "#/label?name=11855")
    page.wait_for_selector(".votes tr")
    page.wait_for_timeout(300)


def progress(page: "Page") -> None:
    page.goto(page.url.partition("#")[0] + "#/progress")
    page.wait_for_selector(".chart")
    page.wait_for_timeout(300)


def tap(page: "Page") -> None:
    tag(page)
    page.locator(".pick").nth(2).tap()
    page.evaluate("() => document.querySelector('.list-card').scrollIntoView()")
    page.wait_for_timeout(300)


# A name, the screen, and the actions.
PICTURES: tuple[tuple[str, dict[str, Any], Callable[["Page"], None]], ...] = (
    ("tag-light", {**WIDE, "color_scheme": "light"}, tag),
    ("tag-dark", {**WIDE, "color_scheme": "dark"}, tag),
    ("tag-phone", {**PHONE, "color_scheme": "light"}, tag),
    ("why-phone", {**PHONE, "color_scheme": "dark"}, tap),
    ("correct", {**WIDE, "color_scheme": "light"}, correct),
    ("label", {**WIDE, "color_scheme": "light"}, label_details),
    ("progress", {**WIDE, "color_scheme": "dark"}, progress),
    ("learned", {**WIDE, "color_scheme": "light"}, learned),
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
