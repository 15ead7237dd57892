"""Measure how the length of a text changes its ranking: whole texts, their heads, and the mean over windows.

python -m benchmarks.lengths                 on held-out training rows; stores the result
python -m benchmarks.lengths --show          print the stored table

Texts of the same label are joined to longer ones. A default tagger ranks the whole text, its first words only, or all
windows of that many words; the probabilities of the windows are added. Rows are training rows, because the figures
decide how texts are ranked.
"""

import argparse
import json
import random
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abound import Tagger
from abound.errors import AboundWarning
from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "lengths.json"
SETS = ("20news", "ohsumed23")
JOINED = (1, 5, 25)  # texts in one
PER_LABEL = 10  # joined texts of each label
HEAD = 300  # words of a head or a window
CHARACTERS = (10_000, 100_000, 1_000_000)
REPEATS = 3


def _best(tagger: Tagger, texts: list[str]) -> list[Any]:
    return [entries[0].label if entries else None for entries in tagger.rank_many(texts, 1)]


def _best_of_windows(tagger: Tagger, text: str) -> Any:
    words = text.split()
    total: dict[Any, float] = defaultdict(float)
    for entries in tagger.rank_many([" ".join(words[i : i + HEAD]) for i in range(0, len(words) or 1, HEAD)], 20):
        for entry in entries:
            total[entry.label] += entry.probability or 0.0
    return max(total, key=lambda label: total[label], default=None)


def measure(name: str) -> dict[str, Any]:
    """Return the figures of one data set."""
    found, chance = documents.development(name), random.Random(0)
    tagger = Tagger().fit([row.text for row in found.train], [row.labels for row in found.train])
    by_label: dict[str, list[str]] = defaultdict(list)
    for row in found.held:
        by_label[row.labels[0]].append(row.text)
    lengths = []
    for n in JOINED:
        rows = [("\n".join(chance.choices(of, k=n)), label) for label, of in by_label.items() for _ in range(PER_LABEL)]
        texts, labels = [text for text, _ in rows], [label for _, label in rows]
        ways = {
            "whole": _best(tagger, texts),
            "head": _best(tagger, [" ".join(text.split()[:HEAD]) for text in texts]),
            "windows": [_best_of_windows(tagger, text) for text in texts],
        }
        p1 = {way: sum(map(str.__eq__, map(str, best), labels)) / len(labels) for way, best in ways.items()}
        lengths.append({"words": round(sum(len(text.split()) for text in texts) / len(texts)), "p1": p1})
    return {"lengths": lengths, "milliseconds": {n: _milliseconds(tagger, found.held, n) for n in CHARACTERS}}


def _milliseconds(tagger: Tagger, rows: documents.Rows, n_characters: int) -> float:
    text, times = "\n".join(row.text for row in rows)[:n_characters], []
    for _ in range(REPEATS):
        started = time.process_time()
        tagger.rank(text, 10)
        times.append(time.process_time() - started)
    return round(1000 * min(times), 1)


def show(result: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of a result."""
    yield f"| set | words | P@1, whole text | first {HEAD} words | mean over windows |"
    yield "|---|---|---|---|---|"
    for name, figures in result["sets"].items():
        for row in figures["lengths"]:
            yield f"| {name} | {row['words']:,} | {' | '.join(f'{value:.3f}' for value in row['p1'].values())} |"
    yield ""
    yield f"| CPU time of a ranking | {' | '.join(f'{n:,} characters' for n in CHARACTERS)} |"
    yield f"|---|{'---|' * len(CHARACTERS)}"
    for name, figures in result["sets"].items():
        yield f"| {name} | {' | '.join(f'{ms:.0f} ms' for ms in figures['milliseconds'].values())} |"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--show", action="store_true", help="print the stored tables")
    given = parser.parse_args(argv)
    if not given.show:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AboundWarning)
            result = {"machine": machine_line(), "sets": {name: measure(name) for name in SETS}}
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(show(json.loads(RESULT.read_text()))))


if __name__ == "__main__":
    main(sys.argv[1:])
