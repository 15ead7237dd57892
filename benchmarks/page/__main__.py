"""Measure and picture the server's page in a real browser.

python -m benchmarks.page latency      time from key press to labels, over 200 presses; writes results/page-latency.json
python -m benchmarks.page pictures     retake the pictures of docs/page.md
python -m benchmarks.page books        keys to give 30 books their subjects
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_line
from benchmarks.page import latency, pictures
from benchmarks.page.books import catalogue
from benchmarks.page.stage import ROWS, Server, chromium, make_model
from benchmarks.sets import data_folder

RESULT = Path(__file__).parents[1] / "results" / "page-latency.json"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
ROUNDS = 3
BOOKS = 30
LONG = (250, 5000)  # words


def measure(model: Path, texts: list[str]) -> dict[str, Any]:
    """Measure several rounds; return the one with the lowest median, since other work on the machine only adds time."""
    with Server(model) as server, chromium() as browser:
        page = browser.new_page()
        page.goto(server.address)
        page.wait_for_selector("#text")
        rounds = [latency.measure(page, texts[i::ROUNDS]) for i in range(ROUNDS)]
        words = " ".join(texts).split()
        tries = [latency.measure_long(page, " ".join(words[:n])) for n in LONG for _ in range(ROUNDS)]
        best, *long = (
            min(found, key=lambda one: one["key_to_labels_ms"]["median"])
            for found in (rounds, *(tries[i : i + ROUNDS] for i in range(0, len(tries), ROUNDS)))
        )
        return {
            "machine": machine_line(),
            "rows": ROWS,
            "browser": f"Chromium {browser.version}",
            "rounds": rounds,
            **best,
            "long": long,
        }


def give_subjects(model: Path, rows: list[tuple[str, list[str]]], folder: Path) -> dict[str, Any]:
    """Give books their subjects by keyboard; return the number of keys."""
    lines = (data_folder() / "yso-finna-en" / "labels.tsv").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t", 1) for line in lines)
    with Server(model, "--state", str(folder / "home")) as server, chromium() as browser:
        return catalogue(browser.new_page(), server.address, rows[:BOOKS], names, folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("latency", "pictures", "books"))
    command = parser.parse_args().command
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "finna"
        rows = make_model(model)
        if command == "latency":
            result = measure(model, [text for text, _ in rows])
            RESULT.write_text(json.dumps(result, indent=1) + "\n")
            print(json.dumps(result, indent=1))
        elif command == "books":
            print(json.dumps(give_subjects(model, rows, Path(folder)), indent=1))
        else:
            with chromium() as browser:
                print(*pictures.take_all(browser, model, rows, IMAGES), sep="\n")


if __name__ == "__main__":
    main()
