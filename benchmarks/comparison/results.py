"""Run the cells of a data set and keep them in its result file, `results/comparison/SET.json`.

A cell is a system with its defaults or with its tuned setting on a data set. Its key is a hash of everything that
determines its figures: the rows, the system's version, the scripts that run it, its options and, for abound,
the source files that its process imported. A cell with another key is void: it is shown nowhere, and the next
run measures it again. A tuned cell is also void if its options are not those that tuning chose.
"""

import ast
import functools
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.store.locks import FileLock
from benchmarks import sets
from benchmarks.comparison import measures, runs, tuning
from benchmarks.comparison.registry import OURS, RUN_SECONDS, RUNS, SETS, SYSTEMS, System
from benchmarks.machine import machine_line
from benchmarks.peers.environments import requirements

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "results" / "comparison"
SHARED = ("harness", "processes", "ours")  # scripts that other scripts import
# Lowest, or highest, of the runs.
LEAST = ("train_seconds", "train_cpu_seconds", "rank_cpu_microseconds_a_row", "peak_megabytes")
MOST = ("rows_a_second_batch", "rows_a_second_single")

Result = dict[str, Any]


def digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()[:16]


# -- keys ----------------------------------------------------------------------------------------------


def rows_digest(data: sets.LabelSet) -> str:
    """Return a digest of all rows, labels and texts of a data set."""
    matrices = [sp.csr_matrix(matrix) for matrix in (data.X_train, data.Y_train, data.X_test, data.Y_test)]
    texts = json.dumps([data.texts_train, data.texts_test]).encode()
    return digest(texts, *(a.tobytes() for m in matrices for a in (m.indptr, m.indices, m.data)))


@functools.cache
def code(path: Path) -> bytes:
    """Return a source file without comments, docstrings and blank lines, which change no figure."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                value = body[0].value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    value.value = ""
        return ast.dump(tree).encode()
    lines = (re.sub(r"\s*#.*", "", line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line).encode()


def key_of(system: System, options: Any, rows: str, sources: list[str]) -> str:
    """Return the key of a cell; `sources` are the files of abound that it used, below src."""
    scripts = [*(SHARED if system.is_ours else SHARED[:2]), system.script]
    files = [runs.SYSTEMS / f"{name}.py" for name in scripts]
    if system.is_ours:
        files += [ROOT / "meson.build", *(ROOT / "src" / source for source in sources)]
        files += sorted((ROOT / "src" / "abound" / "kernels").glob("*.pxd"))
    version = requirements(system.environment) if system.environment else ""
    missing = [file for file in files if not file.exists()]
    parts = [json.dumps(dict(options), sort_keys=True), rows, version, str(missing)]
    return digest(*(part.encode() for part in parts), *(code(file) for file in files if file.exists()))


def tuning_key(system: System, rows: str, sources: list[str]) -> str:
    """Return the key of a system's trials: what determines them, with the grid and the budget."""
    grid = [dict(options) for options in system.settings]
    return key_of(system, {"grid": grid, "budget": tuning.BUDGET}, rows, sources)


def is_void(cell_name: str, result: Result) -> bool:
    """Return whether a cell was measured with other code, options or rows than those of today."""
    name, _, form = cell_name.partition("/")
    cell = result["cells"][cell_name]
    if name not in SYSTEMS or cell["key"] != key_of(
        SYSTEMS[name], cell["options"], result["rows_digest"], cell.get("sources", [])
    ):
        return True
    if form != "tuned":
        return False
    trials = result["tuning"].get(name)
    return trials is None or is_stale(name, trials) or trials["chosen"] != cell["options"]


def is_stale(name: str, trials: dict[str, Any]) -> bool:
    """Return whether trials are of another grid, budget or code than those of today."""
    return bool(trials["key"] != tuning_key(SYSTEMS[name], trials["rows_digest"], trials["sources"]))


# -- the files -----------------------------------------------------------------------------------------


def place(set_name: str, folder: Path | None = None) -> Path:
    return (folder or FOLDER) / f"{set_name}.json"


def load(set_name: str, folder: Path | None = None) -> Result:
    """Return the result of a data set as stored, with void cells; an empty one if there is none."""
    path = place(set_name, folder)
    found: Result = json.loads(path.read_text()) if path.exists() else {"tuning": {}, "cells": {}}
    return found


def read(set_name: str, folder: Path | None = None) -> Result | None:
    """Return the result of a data set without its void cells, or None if nothing is left."""
    found = without_void(load(set_name, folder))
    return found if found["cells"] else None


def without_void(result: Result) -> Result:
    """Return a result without its void cells and stale trials."""
    cells = {name: cell for name, cell in result["cells"].items() if not is_void(name, result)}
    trials = {name: each for name, each in result["tuning"].items() if name in SYSTEMS and not is_stale(name, each)}
    return {**result, "cells": cells, "tuning": trials}


def read_all(folder: Path | None = None) -> dict[str, Result]:
    """Return the results of all data sets that have any."""
    found = {name: read(name, folder) for name in SETS}
    return {name: result for name, result in found.items() if result is not None}


def hits_in(set_name: str, folder: Path | None = None) -> dict[str, np.ndarray]:
    path = place(set_name, folder).with_suffix(".npz")
    if not path.exists():
        return {}
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def write(set_name: str, result: Result, hits: dict[str, np.ndarray], folder: Path | None = None) -> None:
    """Replace the files of a data set."""
    path = place(set_name, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{set_name}.new.npz")
    np.savez_compressed(beside, **{name: _small(hits[name]) for name in sorted(hits)})
    os.replace(beside, path.with_suffix(".npz"))
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(beside, path)


def _small(hits: np.ndarray) -> np.ndarray:
    return hits.astype(np.uint8) if hits.max(initial=0) < 256 else hits


# -- running -------------------------------------------------------------------------------------------


def run(set_name: str, names: list[str], folder: Path | None = None, *, tune_only: bool = False) -> None:
    """Tune and run what is missing for some systems on a data set; each step is stored as soon as it is known.

    The timed runs alternate between the systems, so that a busy period of the machine affects all alike.
    """
    sets.CACHE.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(sets.CACHE / f"{set_name}.lock")  # two runs would overwrite each other's cells
    except BlockingIOError:
        sys.exit(f"{set_name} is being measured by another process; run this command when it has ended")
    with lock:
        _run_locked(set_name, names, folder, tune_only=tune_only)


def _run_locked(set_name: str, names: list[str], folder: Path | None, *, tune_only: bool) -> None:
    data = sets.load(set_name)
    measured = measures.Measured(data)
    rows = rows_digest(data)
    result, hits = load(set_name, folder), hits_in(set_name, folder)
    result |= {
        "description": data.describe(),
        "rows": int(data.X_train.shape[0]),
        "test_rows": int(data.X_test.shape[0]),
        "labels": data.n_train_labels,
        "rows_digest": rows,
        "buckets": dict(zip(measures.bucket_names(), measured.pairs_by_frequency(), strict=True)),
    }
    result = without_void(result)
    hits = {name: found for name, found in hits.items() if name in result["cells"]}
    runnable = []
    for name in names:
        why = SYSTEMS[name].refuses(data)
        if why:
            cell = {"options": {}, "refused": True, "failed": why}
            result["cells"][f"{name}/default"] = cell | {"key": key_of(SYSTEMS[name], {}, rows, [])}
            result["tuning"].pop(name, None)
        else:
            runnable.append(name)
            _tune_if_missing(set_name, name, result)
        write(set_name, result, hits, folder)
    if tune_only:
        return
    for turn in range(RUNS):
        for name in runnable:
            for form in SYSTEMS[name].forms:
                if _run_cell(set_name, f"{name}/{form}", turn, result, hits, measured):
                    write(set_name, result, hits, folder)
    compare(result, hits, measured)
    write(set_name, result, hits, folder)


def _tune_if_missing(set_name: str, name: str, result: Result) -> None:
    system = SYSTEMS[name]
    if not system.grid:
        return
    rows = rows_digest(tuning.rows_for(set_name))
    known = result["tuning"].get(name)
    all_failed = known is not None and all("failed" in trial for trial in known["trials"])
    if known and known["rows_digest"] == rows and not (system.is_ours and all_failed):
        return
    print(f"{set_name}: tuning {name}", file=sys.stderr, flush=True)
    found = tuning.tune(set_name, system)
    key = tuning_key(system, rows, found["sources"])
    result["tuning"][name] = {"key": key, "rows_digest": rows, "machine": machine_line(), **found}


def _run_cell(
    set_name: str, cell_name: str, turn: int, result: Result, hits: dict[str, np.ndarray], measured: measures.Measured
) -> bool:
    """Run a cell once, if it has fewer runs than turns; return whether it ran."""
    name, _, form = cell_name.partition("/")
    system, rows = SYSTEMS[name], result["rows_digest"]
    options = result["tuning"][name]["chosen"] if form == "tuned" else {}
    if form == "tuned" and not options:  # the defaults were the best: these are the same runs
        result["cells"].pop(cell_name, None)
        return False
    known = result["cells"].get(cell_name)
    if known and (is_void(cell_name, result) or known["options"] != options or _is_worth_another_try(known, system)):
        known = None
    if known and ("failed" in known or len(known["runs"]) > turn):
        return False
    print(f"{set_name}: run {turn + 1} of {cell_name}", file=sys.stderr, flush=True)
    found = runs.once(system, options, sets.CACHE / set_name, RUN_SECONDS * runs.CORES)
    sources = found.pop("sources", [])
    cell: dict[str, Any] = {"key": key_of(system, options, rows, sources), "options": options, "sources": sources}
    if "failed" in found:
        if known:  # a run succeeded before: the next command tries again
            print(f"  {found['failed']}", file=sys.stderr, flush=True)
            return False
        result["cells"][cell_name] = cell | {"failed": found["failed"]}
        return True
    ranking = found.pop("ranking")
    cell["machine"] = machine_line()
    cell |= {"version": found.pop("version"), "threads": found.pop("threads")}
    before = known["runs"] if known else []
    cell["runs"] = [*before, {key: float(f"{value:.6g}") for key, value in found.items()}]
    if before:  # the ranking is that of the first run, also where a system ranks differently each time
        same = digest(ranking.tobytes()) == known["ranking"]
        cell |= {"ranking": known["ranking"], "same_ranking": same, "accuracy": known["accuracy"]}
        cell["by_frequency"] = known["by_frequency"]
    else:
        hits[cell_name] = measures.hits_of(measured.truth, ranking)
        cell |= {"ranking": digest(ranking.tobytes())}
        _measure(cell, hits[cell_name], measured)
    result["cells"][cell_name] = cell
    print(f"  {costs(cell)} {[cell['accuracy'][m][0] for m in measures.MEASURES]}", file=sys.stderr, flush=True)
    return True


def _is_worth_another_try(cell: dict[str, Any], system: System) -> bool:
    """Return whether a cell failed for a reason that may have gone."""
    why = cell.get("failed", "")
    return bool(why) and (system.is_ours or "refused" in cell or why.startswith(runs.STALLED))


def _measure(cell: dict[str, Any], hits: np.ndarray, measured: measures.Measured) -> measures.Judged:
    """Write the accuracy of a cell, and return its measures with their resampled values."""
    judged = measured.judged(hits)
    cell["accuracy"] = {m: measures.with_interval(*judged[m]) for m in measures.MEASURES}
    cell["by_frequency"] = measured.recall_by_frequency(hits)
    return judged


def costs(cell: dict[str, Any]) -> dict[str, float]:
    """Return the lowest times and memory and the highest rates of all runs of a cell."""
    each = cell["runs"]
    least = {key: min(one[key] for one in each) for key in LEAST}
    most = {key: max(one[key] for one in each) for key in MOST}
    return least | most | {"model_bytes": each[-1]["model_bytes"]}


def compare(result: Result, hits: dict[str, np.ndarray], measured: measures.Measured) -> None:
    """Write the accuracy of all cells, and the paired differences between abound and each other system.

    Both are computed from the hits, so that all cells are measured by the same code. Defaults are compared with
    defaults, and tuned settings with tuned ones.
    """
    judged = {}
    for name, cell in result["cells"].items():
        cell.pop("ours_less_it", None)
        if "failed" not in cell:
            judged[name] = _measure(cell, hits[name], measured)
    for form in ("default", "tuned"):
        ours = cell_of(result, OURS, form)
        if ours is None or "failed" in ours[1]:
            continue
        mine = judged[ours[0]]
        for name in SYSTEMS:
            other = cell_of(result, name, form)
            if name == OURS or other is None or "failed" in other[1]:
                continue
            theirs = judged[other[0]]
            found = {m: measures.difference(mine[m], theirs[m]) for m in measures.MEASURES}
            other[1].setdefault("ours_less_it", {})[form] = found


def cell_of(result: Result, name: str, form: str) -> tuple[str, dict[str, Any]] | None:
    """Return a system's cell of a form; where tuning chose the defaults, or nothing is tuned, the default one."""
    wanted = f"{name}/{form}"
    if wanted not in result["cells"]:
        is_default = not result["tuning"].get(name, {}).get("chosen")
        is_known = name in result["tuning"] or not SYSTEMS[name].grid
        is_refused = "refused" in result["cells"].get(f"{name}/default", {})
        wanted = f"{name}/default" if (is_default and is_known) or is_refused else wanted
    cell = result["cells"].get(wanted)
    return None if cell is None else (wanted, cell)
