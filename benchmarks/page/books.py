"""Give books their subjects by keyboard in the queue, and count the keys.

A cataloguer knows the right subjects. She accepts those among the first ten by their digits, types the others until
they are near the top of the options, and presses Enter when the book is done.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

Book = tuple[str, list[str]]
NEAR = 2  # arrow keys that are pressed instead of another letter
LABELS = "() => [...document.querySelectorAll('.row')].map((row) => row.dataset.label)"
OPTIONS = "() => [...document.querySelectorAll('[role=option]:not(.is-new) .option-name')].map((x) => x.textContent)"
ASKED = """(typed) => {
    const input = document.querySelector('.list-card [role=combobox]');
    return input.value.trim() === typed && input.dataset.shown === typed;
}"""


class Cataloguer:
    """A person at the keyboard of the queue, who knows the names of the labels."""

    def __init__(self, page: "Page", names: dict[str, str]) -> None:
        self.page = page
        self.names = names
        self.keys = 0

    def press(self, key: str) -> None:
        self.keys += 1
        self.page.keyboard.press({" ": "Space"}.get(key, key)) if key.isascii() else self.page.keyboard.insert_text(key)

    def decide(self, book: Book) -> int:
        """Give one book its labels and go to the next; return the number of keys."""
        before, (text, labels) = self.keys, book
        self.page.wait_for_function("(text) => document.querySelector('#text')?.value === text", arg=text)
        self.page.wait_for_selector(".list-card:not([aria-busy]) .ranking:not(.is-blocked)", state="attached")
        shown = self.page.evaluate(LABELS)[:10]
        for label in labels:
            if label in shown:
                self.press(str((shown.index(label) + 1) % 10))
        missing = [label for label in labels if label not in shown]
        if missing:
            self.press("/")
        for label in missing:
            self.add(self.names[label])
        self.press("Enter")
        return self.keys - before

    def add(self, name: str) -> None:
        """Type a name until it is near the top of the options, and pick it."""
        for end, letter in enumerate(name, 1):
            self.press(letter)
            if letter != " " and self.pick(name, name[:end]):
                return
        raise ValueError(f"{name!r} is not among the options")

    def pick(self, name: str, typed: str) -> bool:
        self.page.wait_for_function(ASKED, arg=typed)
        options = self.page.evaluate(OPTIONS)
        if name not in options[: NEAR + 1]:
            return False
        for _ in range(options.index(name)):
            self.press("ArrowDown")
        self.press("Enter")
        return True


def open_queue(page: "Page", address: str, books: list[Book], folder: Path) -> None:
    """Open the books as a file of the queue."""
    file = folder / "books.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text, _ in books), encoding="utf-8")
    page.goto(f"{address}/#/queue")
    page.locator("#file").set_input_files(file)


def catalogue(page: "Page", address: str, books: list[Book], names: dict[str, str], folder: Path) -> dict[str, Any]:
    """Give all books their labels; return the keys for each book."""
    open_queue(page, address, books, folder)
    person = Cataloguer(page, names)
    keys = [person.decide(book) for book in books]
    page.wait_for_selector("body:not(.has-pending)", timeout=60_000)
    return {"books": len(books), "labels": sum(len(labels) for _, labels in books), "keys": sum(keys),
            "keys_a_book": round(sum(keys) / len(keys), 1)}  # fmt: skip
