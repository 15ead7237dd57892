"""Compare the default text settings with all others that were tried, on development rows.

python -m benchmarks.defaults run                                   measure the cells that the result file lacks
python -m benchmarks.defaults run --set 20news --setting default --again
python -m benchmarks.defaults show                                  print the tables of the result file

A cell is one setting on one data set, with or without the names of labels. A `Tagger` with otherwise default parameters
learns the rows in file order and ranks development rows (`benchmarks.documents.development`). Each cell runs in a
separate process, and the result file is written after each, so that a run can be stopped and resumed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "defaults.json"
SETS = (
    *("20news", "debian-tags", "reuters-90", "gutenberg-lcsh", "wordnet-hypernym", "debian-depends"),
    *("finna-20k", "finna-100k", "finna-fi-100k"),
)
FINNISH = ("finna-fi-100k",)
CLOSE = 0.005  # of P@1 and of P@5: a setting within this distance is level with the best
MEASURES = ("P@1", "P@3", "P@5")
WHOLE: dict[str, Any] = {"language": None}  # words as they are written
STEMS = {**WHOLE, "stem": "STEM"}  # replaced by the stemmer of the data set's language
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "words": {**WHOLE, "ngrams": 1},
    "words, pairs": WHOLE,
    "words, pairs, in 2 texts": {**WHOLE, "min_count": 2},
    "stems": {**STEMS, "ngrams": 1},
    "stems, pairs": STEMS,
    "stems, pairs at half weight": {**STEMS, "run_weight": 0.5},
    "stems, words beside them, pairs": {**STEMS, "form_weight": 0.5},
    "stems, words beside them, pairs at half weight": {**STEMS, "form_weight": 0.5, "run_weight": 0.5},
    "stems, words beside them, pairs at 0.3": {**STEMS, "form_weight": 0.5, "run_weight": 0.3},
    "stems, pairs, in 2 texts": {**STEMS, "min_count": 2},
    "stems, pairs, in 3 texts": {**STEMS, "min_count": 3},
    "stems, pairs, triples": {**STEMS, "ngrams": 3},
    "stems, pairs, pivoted": {**STEMS, "weighting": "pivoted"},
    "stems, pairs, parts of 5": {**STEMS, "char_ngrams": [5, 5]},
    "words, pairs, parts of 5": {**WHOLE, "char_ngrams": [5, 5]},
    "words, pairs, parts of 4 to 6": {**WHOLE, "char_ngrams": [4, 6]},
    "stems, pairs, parts of 4 to 6": {**STEMS, "char_ngrams": [4, 6]},
    "default, names count 1": {"name_weight": 1.0},
    "default, names count 2": {"name_weight": 2.0},
    "default, names count 4": {"name_weight": 4.0},
    "default, names count 8": {"name_weight": 8.0},
}
LONG_TEXTS = ("20news", "debian-tags", "reuters-90", "debian-depends")
# These take hours on long texts and gain nothing on short ones.
SHORT_TEXTS_ONLY = ("words, pairs, parts of 4 to 6", "stems, pairs, parts of 4 to 6", "stems, pairs, triples")


def tried(set_name: str, names: bool) -> list[str]:
    """Return the settings that are tried on a data set."""
    found = [name for name in SETTINGS if names or "name_weight" not in SETTINGS[name]]
    return [name for name in found if set_name not in LONG_TEXTS or name not in SHORT_TEXTS_ONLY]


def params_of(set_name: str, setting: str) -> dict[str, Any]:
    """Return the parameters of a `Tagger` for a setting."""
    params = dict(SETTINGS[setting])
    if params.get("stem") == "STEM":
        params["stem"] = "finnish" if set_name in FINNISH else "english"
    return params


def measure(set_name: str, names: bool, params: dict[str, Any]) -> dict[str, Any]:
    """Learn the training rows of a data set and rank its development rows, as a user would."""
    from abound import Tagger
    from abound.metrics import evaluate

    found = documents.development(set_name)
    train = documents.ordered(found.train, "filed")
    texts, labels = [row.text for row in train], [row.labels for row in train]
    begin, wall = time.process_time(), time.perf_counter()
    tagger = Tagger(**params).fit(texts, labels, label_names=found.names if names else None)
    trained = time.process_time()
    figures = {"train_core_seconds": trained - begin, "train_seconds": time.perf_counter() - wall}
    ranking = tagger.rank_arrays([row.text for row in found.held], 5)
    figures["rank_microseconds_a_row"] = (time.process_time() - trained) / len(found.held) * 1e6
    measured = evaluate(tagger.truth([row.labels for row in found.held]), ranking, MEASURES)
    return {
        **{name: round(value, 4) for name, value in measured.items()},
        **{name: round(value, 1) for name, value in figures.items()},
        "rows": len(train),
        "held_out": len(found.held),
        "terms": tagger.n_features,
        "model_megabytes": round(tagger.nbytes / 1e6),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
        "text": {key: tagger.params().get(key) for key in ("language", "stem", "char_ngrams", "ngrams", "min_count")},
    }


def key_of(set_name: str, names: bool, setting: str) -> str:
    return f"{set_name} | {'names' if names else 'no names'} | {setting}"


def read(path: Path = RESULT) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"machine": "", "cells": {}}
    return found


def write(result: dict[str, Any], path: Path) -> None:
    """Replace the result file atomically, with its cells in the order of the tables."""
    order = [key_of(s, names, setting) for s in SETS for names in (False, True) for setting in SETTINGS]
    cells = result["cells"]
    ordered = {key: cells[key] for key in sorted(cells, key=lambda key: order.index(key) if key in order else -1)}
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"machine": machine_line(), "cells": ordered}, indent=1) + "\n")
    os.replace(beside, path)


def in_process(cell: str) -> str | None:
    """Measure one cell in a separate process, so that its memory is that of the cell; return None if it failed."""
    command = [sys.executable, "-m", "benchmarks.defaults", "cell", cell]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parents[1])
    return None if answer.returncode else answer.stdout.splitlines()[-1]


def run(set_names: list[str], settings: list[str], path: Path, *, again: bool = False) -> None:
    """Run the cells that are missing, or whose parameters have changed, each in a separate process."""
    for set_name in set_names:
        for names in (False, True):
            for setting in (name for name in tried(set_name, names) if name in settings):
                key, params = key_of(set_name, names, setting), params_of(set_name, setting)
                known = read(path)["cells"].get(key)
                if known is not None and not again and not is_outdated(known, set_name, setting):
                    continue
                answer = in_process(json.dumps([set_name, names, params]))
                if answer is None:
                    print(f"{key}: failed", file=sys.stderr)
                    continue
                result = read(path)  # another process may have added cells meanwhile
                result["cells"][key] = {"params": params, **json.loads(answer)}
                write(result, path)
                print(f"{key}: P@1 {result['cells'][key]['P@1']:.4f}", file=sys.stderr, flush=True)


# -- tables --------------------------------------------------------------------------------------------


OUTDATED = "A star marks cells that were measured with other parameters than today's; `run` measures them again."


def is_outdated(cell: dict[str, Any], set_name: str, setting: str) -> bool:
    return bool(cell["params"] != params_of(set_name, setting))


def cells_of(result: dict[str, Any], set_name: str, names: bool) -> dict[str, dict[str, Any]]:
    """Return the cells of a data set by setting, in the order of `SETTINGS`."""
    found = {name: result["cells"].get(key_of(set_name, names, name)) for name in SETTINGS}
    return {name: cell for name, cell in found.items() if cell is not None}


def beside_best(result: dict[str, Any]) -> list[str]:
    """Return a table of the default and the settings with the best P@1 and the best P@5 on each data set."""
    lines = [
        "| data set | names | default P@1 / P@5 | best P@1 | with | best P@5 | with | level |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for set_name in SETS:
        for names in (False, True):
            cells = cells_of(result, set_name, names)
            if "default" not in cells:
                continue
            default = cells["default"]
            best = {m: max(cells, key=lambda name, m=m: (cells[name][m], name == "default")) for m in ("P@1", "P@5")}  # type: ignore[misc]
            level = all(default[m] >= cells[best[m]][m] - CLOSE for m in best)
            lines.append(
                f"| {set_name} | {'yes' if names else 'no'} | {default['P@1']:.3f} / {default['P@5']:.3f} "
                f"| {cells[best['P@1']]['P@1']:.3f} | {best['P@1']} | {cells[best['P@5']]['P@5']:.3f} | {best['P@5']} "
                f"| {'yes' if level else '**no**'} |"
            )
    return lines


def every_setting(result: dict[str, Any], set_name: str) -> list[str]:
    """Return a table of all settings on one data set, with their costs."""
    lines = [
        "| setting | names | P@1 | P@3 | P@5 | train core s | rank µs/row | model MB | peak MB | terms |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for names in (False, True):
        for name, cell in cells_of(result, set_name, names).items():
            accuracy = " | ".join(f"{cell[m]:.3f}" for m in MEASURES)
            star = "\\*" if is_outdated(cell, set_name, name) else ""
            lines.append(
                f"| {name}{star} | {'yes' if names else 'no'} | {accuracy} | {cell['train_core_seconds']:.1f} "
                f"| {cell['rank_microseconds_a_row']:.0f} | {cell['model_megabytes']:,} | {cell['peak_megabytes']:,} "
                f"| {cell['terms']:,} |"
            )
    return lines


def all_tables(result: dict[str, Any]) -> list[str]:
    """Return the tables of all data sets, with headings."""
    lines: list[str] = []
    for set_name in SETS:
        cells = {**cells_of(result, set_name, False), **cells_of(result, set_name, True)}
        if cells:
            first = next(iter(cells.values()))
            lines += [f"### {set_name}", "", f"{first['rows']:,} rows learned, {first['held_out']:,} held out.", ""]
            lines += [*every_setting(result, set_name), ""]
    return [*lines, OUTDATED] if any("\\*" in line for line in lines) else lines[:-1]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "show", "cell"])
    parser.add_argument("cell", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--set", help="comma-separated data sets (default: all nine)")
    parser.add_argument("--setting", action="append", choices=list(SETTINGS), help="a setting; may be repeated")
    parser.add_argument("--again", action="store_true", help="also run cells that are in the result file")
    parser.add_argument("--json", type=Path, default=RESULT, help="the result file")
    given = parser.parse_args(argv)
    if given.command == "cell":
        print(json.dumps(measure(*json.loads(given.cell))))
    elif given.command == "run":
        set_names = given.set.split(",") if given.set else list(SETS)
        run(set_names, given.setting or list(SETTINGS), given.json, again=given.again)
    else:
        result = read(given.json)
        print("\n".join([*beside_best(result), "", *all_tables(result)]))


if __name__ == "__main__":
    main()
