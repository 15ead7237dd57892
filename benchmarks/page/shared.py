"""States of shared queues for the pictures of the page: two other people work on them over HTTP."""

import json
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

HEADER = "X-Remote-User"
ME = "Chris"
PEOPLE = ("Anna", "Ben")
GUIDELINES = "At most five subjects a title. Prefer the narrower subject."
TEXTS = (
    ("Wooden boats of the archipelago", "1990"), ("Climate change and forest fires", "2021"),
    ("A history of the violin", "2004"), ("Teaching mathematics to young children", "2015"),
    ("Growing roses in cold climates", "2012"), ("Railway stations of Europe", "1998"),
)  # fmt: skip


def post(address: str, path: str, body: dict[str, Any], who: str) -> dict[str, Any]:
    """Send a request of a person to our own server; return its answer."""
    headers = {"Content-Type": "application/json", HEADER: who}
    request = urllib.request.Request(f"{address}/{path}", json.dumps(body).encode(), headers)  # noqa: S310  our own
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
    return found


def make(address: str) -> None:
    """Make a queue of texts that are open, and one whose texts get a second opinion, with decisions of two people."""
    texts = [
        {"text": text, "id": str(i), "source": json.dumps({"year": year})} for i, (text, year) in enumerate(TEXTS, 1)
    ]
    for name, reviews in (("New books", 0), ("Returned books", 0), ("Second opinion", 1)):
        about = {"name": name, "guidelines": GUIDELINES, "reviews": reviews, "texts": texts}
        post(address, "v1/queues", about, PEOPLE[0])
    for i in range(2):
        decide(address, "New books", PEOPLE[i])
    lease(address, "New books", PEOPLE[0])
    for _ in TEXTS:
        decide(address, "Second opinion", PEOPLE[0])
    for rank in (0, 0, 1):
        decide(address, "Second opinion", PEOPLE[1], rank)


def lease(address: str, name: str, who: str) -> dict[str, Any]:
    """Lease the next text to a person."""
    item: dict[str, Any] = post(address, "v1/queue/next", {"name": name, "holder": who}, who)["item"]
    return item


def decide(address: str, name: str, who: str, rank: int = 0) -> None:
    """Let a person accept one of the first labels of the next text."""
    item = lease(address, name, who)
    label = post(address, "v1/rank", {"text": item["text"]}, who)["labels"][rank]["label"]
    body = {"name": name, "item": item["item"], "holder": who, "accepted": [label]}
    post(address, "v1/queue/decide", body, who)


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def address_of(page: "Page") -> str:
    return page.url.partition("#")[0].rstrip("/")


def join(page: "Page", name: str) -> None:
    page.goto(f"{address_of(page)}/#/queue?name={name}")
    page.wait_for_selector(".queue-bar")
    page.wait_for_selector(".row")
    page.wait_for_timeout(500)


def work(page: "Page") -> None:
    join(page, "New books")
    press(page, "1")
    page.wait_for_timeout(300)


def lose(page: "Page") -> None:
    """Decide on a text that has passed to another person."""
    join(page, "Returned books")
    holder, held = page.evaluate(
        "() => ['holder', 'shared-item'].map((name) => JSON.parse(sessionStorage.getItem(`abound:${name}`)))"
    )
    post(address_of(page), "v1/queue/release", {**held, "holder": holder}, ME)
    lease(address_of(page), "Returned books", PEOPLE[1])
    press(page, "1", "Enter")
    page.locator("#notice", has_text="were not kept").wait_for()
    page.wait_for_timeout(800)


def review(page: "Page") -> None:
    join(page, "Second opinion")


def list_texts(page: "Page") -> None:
    join(page, "Second opinion")
    press(page, "v")
    page.locator(".text-row").nth(len(TEXTS) - 1).wait_for()
    page.wait_for_timeout(500)


def finish(page: "Page") -> None:
    """Decide on the texts that are left for this person."""
    join(page, "New books")
    for _ in TEXTS:
        if page.locator(".end").is_visible():
            break
        text = page.locator("#text").input_value()
        press(page, "1", "Enter")
        page.wait_for_function(
            "(text) => document.querySelector('.end')?.checkVisibility()"
            " || (document.querySelector('#text').value !== text && !document.querySelector('.is-blocked'))",
            arg=text,
        )
    page.wait_for_timeout(500)
