"""Measure the time from a key press to painted labels, and the server's share of it."""

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

PRESSES = 200
PAUSE = 60  # milliseconds between two key presses: people rarely type faster
# The server's share: from the last byte of the request to the first byte of the response, as the browser reports it.
SHARES = """() => performance.getEntriesByType("resource").filter((entry) => entry.name.endsWith("/v1/rank"))
    .map((entry) => entry.responseStart - entry.requestStart)"""
WAITS = '() => performance.getEntriesByName("abound:rank").map((entry) => entry.duration)'
CLEAR = "() => { performance.clearMeasures(); performance.clearResourceTimings(); }"


def measure(page: "Page", texts: list[str], presses: int = PRESSES) -> dict[str, Any]:
    """Type texts letter by letter; return the milliseconds from each key press to its labels."""
    waits: list[float] = []
    shares: list[float] = []
    for text in texts:
        typed = text[: presses - len(waits)]
        if not typed.strip():
            break
        page.locator("#text").fill("warm")
        page.wait_for_selector(".row")
        page.locator("#text").fill("")
        page.wait_for_timeout(200)
        page.evaluate(CLEAR)
        for letter in typed:
            page.keyboard.insert_text(letter) if not letter.isascii() else page.keyboard.press(_key(letter))
            page.wait_for_timeout(PAUSE)
        page.wait_for_function(
            "(wanted) => performance.getEntriesByName('abound:rank').length >= wanted", arg=len(typed), timeout=20_000
        )
        waits += page.evaluate(WAITS)
        shares += page.evaluate(SHARES)
    return {"presses": len(waits), "key_to_labels_ms": spread(waits), "server_ms": spread(shares)}


def _key(letter: str) -> str:
    return "Space" if letter == " " else letter


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, the 95th percentile and the largest."""
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {"median": round(cuts[9], 1), "p95": round(cuts[18], 1), "most": round(max(values), 1)}
