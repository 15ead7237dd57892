"""Make the animation of README from pictures of the page: python -m docs_build.animation [FILE].

It needs the data sets, playwright, Chromium and Pillow.
"""

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.page.stage import Server, chromium, make_model

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import Page

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "page.webp"
TITLE = "Forest fires and climate change in Finland"
SIZE = {"width": 1100, "height": 700}
MAX_BYTES = 1_000_000
# Keys after the text, and how long the page is then shown, in milliseconds.
STEPS = (
    ("Escape", 900), ("1", 900), ("j", 300), ("j", 300), ("j", 500), ("a", 900), ("ArrowUp", 300), ("r", 1100),
    ("Enter", 3200),
)  # fmt: skip


def frames(page: "Page") -> "list[tuple[Image, int]]":
    """Return pictures of a text that is typed, corrected and learned, each with its duration."""
    from PIL import Image

    taken: list[tuple[Image.Image, int]] = []

    def take(duration: int) -> None:
        picture = Image.open(io.BytesIO(page.screenshot(caret="hide"))).convert("RGB")
        taken.append((picture, duration))

    page.wait_for_selector("#text")
    page.wait_for_timeout(500)
    take(1200)
    page.locator("#text").focus()
    for number, word in enumerate(TITLE.split(" ")):
        page.keyboard.type(f" {word}" if number else word)
        page.wait_for_timeout(500)
        take(450)
    for key, duration in STEPS:
        page.keyboard.press(key)
        if key == "Enter":
            page.wait_for_selector(".moved")
        page.wait_for_timeout(400)
        take(duration)
    return taken


def main() -> None:
    """Fit the model, take the pictures, and write them as one file."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "finna"
        make_model(model)
        with Server(model, "--state", f"{folder}/home") as server, chromium() as browser:
            page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
            page.goto(server.address)
            taken = frames(page)
    (first, _), *others = taken
    durations = [duration for _, duration in taken]
    first.save(
        target, save_all=True, append_images=[picture for picture, _ in others], duration=durations, loop=0,
        quality=80, method=3,
    )  # fmt: skip
    size = target.stat().st_size
    if size > MAX_BYTES:
        sys.exit(
            f"{target} has {size:,} bytes; it must have at most {MAX_BYTES:,}: use fewer pictures or a smaller size"
        )
    print(f"{len(taken)} pictures, {size:,} bytes in {target}")


if __name__ == "__main__":
    main()
