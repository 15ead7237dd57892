"""Measure the time from a key press to painted labels, and the server's share of it."""

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

PRESSES = 200
LETTERS = " and the birds of northern forests in winter"  # typed at the end of a long text
WORK = "TaskDuration"
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
        found = _type(page, typed)
        waits += found[0]
        shares += found[1]
    return {"presses": len(waits), "key_to_labels_ms": spread(waits), "server_ms": spread(shares)}


def measure_long(page: "Page", text: str) -> dict[str, Any]:
    """Type letters at the end of a long text; return the milliseconds from each key press to its labels."""
    page.locator("#text").fill(text)
    page.wait_for_selector(".votes")
    page.wait_for_timeout(500)
    page.locator("#text").press("Control+End")
    waits, shares = _type(page, LETTERS)
    page.locator("#text").fill("")
    words = len(text.split())
    return {"words": words, "presses": len(waits), "key_to_labels_ms": spread(waits), "server_ms": spread(shares)}


def measure_work(page: "Page", text: str) -> float:
    """Type letters at the end of a text; return the milliseconds of the main thread for each, without its waiting."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        return next(one["value"] for one in session.send("Performance.getMetrics")["metrics"] if one["name"] == WORK)

    page.locator("#text").fill(text)
    page.wait_for_selector(".votes")
    page.wait_for_timeout(500)
    page.locator("#text").press("Control+End")
    before = worked()
    _type(page, LETTERS)
    return round(1000 * (worked() - before) / len(LETTERS), 1)


def _type(page: "Page", letters: str) -> tuple[list[float], list[float]]:
    """Type letters; return the times until their labels were painted, and the server's share."""
    page.evaluate(CLEAR)
    for letter in letters:
        page.keyboard.insert_text(letter) if not letter.isascii() else page.keyboard.press(_key(letter))
        page.wait_for_timeout(PAUSE)
    page.wait_for_function(
        "(wanted) => performance.getEntriesByName('abound:rank').length >= wanted", arg=len(letters), timeout=20_000
    )
    return page.evaluate(WAITS), page.evaluate(SHARES)


def _key(letter: str) -> str:
    return "Space" if letter == " " else letter


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, the 95th percentile and the largest."""
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {"median": round(cuts[9], 1), "p95": round(cuts[18], 1), "most": round(max(values), 1)}
