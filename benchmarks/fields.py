"""Compare texts with fields with their title alone, the rest alone, and both joined.

python -m benchmarks.fields                                   all data sets, on their test rows
python -m benchmarks.fields --set reuters-90
python -m benchmarks.fields --development [--set ...]         on held-out training rows, to choose constants; not stored
python -m benchmarks.fields --show                            print the stored table

A `Tagger` for English, otherwise without options, learns each of these. Besides the default weights of fields,
development rows are also ranked with fixed weights of the title, and with title words that are terms of their own:
instead of the shared terms (`own`), or beside them (`both`). Rows and splits are those of `benchmarks.documents`.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from abound import Tagger
from abound.metrics import judge
from abound.metrics.bootstrap import Interval, compare, interval
from abound.metrics.judgement import Judgement
from abound.texts import Text, joined
from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "fields.json"
MEASURES = ("P@1", "P@3")
TITLE_WEIGHTS = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 10, 16)
Fields = dict[str, str]


def _debian() -> list[Fields]:
    packages = (p for p in documents.json_lines("debian-tags/debian-bookworm.jsonl.xz") if p["tags"])
    return [{"title": f"{p['package']} {p['summary']}", "body": p["description"]} for p in packages]


def _reuters() -> list[Fields]:
    stories = documents.json_lines("reuters21578/reuters21578.jsonl.xz")
    return [{"title": story["title"] or "", "body": story["body"] or ""} for story in stories]


def _ohsumed() -> list[Fields]:
    abstracts = documents.json_lines("ohsumed23/ohsumed_single_23.jsonl.xz")
    parts = (abstract["text"].partition("\n") for abstract in abstracts)
    return [{"title": title, "body": body} for title, _, body in parts]


# The fields of each row by its place in the source file.
SETS: dict[str, Callable[[], list[Fields]]] = {
    "debian-tags": _debian,
    "reuters-90": _reuters,
    "ohsumed23": _ohsumed,
}


def with_own_terms(text: str) -> str:
    """Return a text whose words differ from all others, but have the same endings for the stemmer."""
    return re.sub(r"\w+", lambda word: f"qz{word[0]}", text)


VARIANTS: dict[str, tuple[Callable[[Fields], Text], dict[str, Any]]] = {
    "title": (lambda fields: fields["title"], {}),
    "body": (lambda fields: fields["body"], {}),
    "joined": (joined, {}),
    "fields": (lambda fields: fields, {}),
}
TRIED: dict[str, tuple[Callable[[Fields], Text], dict[str, Any]]] = {
    **{f"title {w}": (lambda fields: fields, {"field_weights": {"title": w, "body": 1}}) for w in TITLE_WEIGHTS},
    "own": (lambda fields: {"title": with_own_terms(fields["title"]), "body": fields["body"]}, {}),
    **{
        f"both {w} + {own}": (
            lambda fields: {**fields, "own": with_own_terms(fields["title"])},
            {"field_weights": {"title": w, "body": 1, "own": own}},
        )
        for w, own in ((1, 1), (2, 1), (2, 2), (4, 4), (6, 3), (6, 6))
    },
}


def measure(name: str, development: bool, variants: dict[str, Any]) -> dict[str, Any]:
    """Learn and rank all variants of a data set, and return their metrics with intervals."""
    found = documents.development(name) if development else documents.final(name)
    fields = SETS[name]()
    judgements: dict[str, Judgement] = {}
    weights: dict[str, float] = {}
    for variant, (text_of, params) in variants.items():
        tagger = Tagger(language="en", **params)
        tagger.fit([text_of(fields[row.place]) for row in found.train], [row.labels for row in found.train])
        ranking = tagger.rank_arrays([text_of(fields[row.place]) for row in found.held], 10)
        judgements[variant] = judge(tagger.truth([row.labels for row in found.held]), ranking)
        if variant == "fields":
            weights = {field: tagger.encoder.weight_of_field(field) for field in tagger.encoder.fields or ()}
        shown = ", ".join(f"{m} {interval(m, judgements[variant]).value:.4f}" for m in MEASURES)
        print(f"{name}, {variant}: {shown}", file=sys.stderr, flush=True)
    return {
        "train": len(found.train),
        "held_out": len(found.held),
        "weights": weights,
        "metrics": {v: {m: rounded(interval(m, judged)) for m in MEASURES} for v, judged in judgements.items()},
        "gain": {
            v: {m: rounded(compare(m, judgements["fields"], judged)) for m in MEASURES}
            for v, judged in judgements.items()
            if v != "fields"
        },
    }


def rounded(found: Interval) -> list[float]:
    return [round(value, 4) for value in found]


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {"machine": "", "sets": {}}
    return found


def write(name: str, figures: dict[str, Any]) -> None:
    sets = {**read()["sets"], name: figures}
    beside = RESULT.with_suffix(".new")
    ordered = {known: sets[known] for known in SETS if known in sets}
    beside.write_text(json.dumps({"machine": machine_line(), "sets": ordered}, indent=1) + "\n")
    os.replace(beside, RESULT)


def table(sets: dict[str, Any]) -> list[str]:
    """Return the stored figures as a table."""
    lines = ["| data set | text | P@1 | P@3 | fields − this, P@1 | P@3 |", "|---|---|---|---|---|---|"]
    for name, figures in sets.items():
        for variant, metrics in figures["metrics"].items():
            cells = [_span(metrics[m]) for m in MEASURES]
            gain = figures["gain"].get(variant)
            cells += [_difference(gain[m]) for m in MEASURES] if gain else ["", ""]
            weights = ", ".join(f"{field} {weight:g}" for field, weight in figures["weights"].items())
            words = f"**fields** ({weights})" if variant == "fields" else variant
            lines.append(f"| {name} | {words} | {' | '.join(cells)} |")
    return lines


def _span(found: list[float]) -> str:
    return "{:.3f} ({:.3f} to {:.3f})".format(*found)


def _difference(found: list[float]) -> str:
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(*found).replace("-", "−")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, action="append", help="a data set; all by default")
    parser.add_argument("--development", action="store_true", help="rank held-out training rows; nothing is stored")
    parser.add_argument("--show", action="store_true", help="print the stored table")
    given = parser.parse_args()
    if given.show:
        print("\n".join(table(read()["sets"])))
        return
    for name in given.set or SETS:
        figures = measure(name, given.development, {**VARIANTS, **(TRIED if given.development else {})})
        if given.development:
            print("\n".join(table({name: figures})))
        else:
            write(name, figures)


if __name__ == "__main__":
    main()
