"""The files of the data sets for the final comparison: names, folder and rows.

Each data set is a folder of three files of JSON lines. `development.jsonl` contains the rows of `train.jsonl` that are
held out for development; they are in both files.
"""

import json
import os
import sys
from pathlib import Path

NAMES = ("locked-edict-kanji", "locked-gcc-authors", "locked-man-links")
PARTS = ("train", "development", "test")


def folder() -> Path:
    """Return the folder of the data sets: ABOUND_LOCKED, or .cache/locked."""
    return Path(os.environ.get("ABOUND_LOCKED", ".cache/locked"))


def path_of(where: Path, name: str, part: str) -> Path:
    return where / name / f"{part}.jsonl"


def read(name: str, part: str) -> list[tuple[str, list[str], int]]:
    """Return text, labels and position in the source of each row."""
    path = path_of(folder(), name, part)
    if not path.exists():
        sys.exit(
            f"the data set {name} is not in {folder()}: run `python -m benchmarks.locked fetch {folder()}`, "
            "or set ABOUND_LOCKED to the folder that contains it"
        )
    with open(path, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [(row["text"], row["labels"], row["place"]) for row in found]


def write(path: Path, rows: list[tuple[str, list[str], int]]) -> None:
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as lines:
        for text, labels, place in rows:
            lines.write(json.dumps({"text": text, "labels": labels, "place": place}, ensure_ascii=False) + "\n")
