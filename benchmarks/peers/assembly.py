"""Assemble all cells of the store into one result, for tables and pictures."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import sets
from benchmarks.machine import machine_line
from benchmarks.peers import cells
from benchmarks.peers.accuracy import MEASURES, Measured, Ranked, bucket_names, difference, with_interval
from benchmarks.peers.environments import HERE
from benchmarks.peers.lines import lines_written
from benchmarks.peers.registry import LIMITS, OURS, PEERS, SETS

RESULT = HERE.parent / "results" / "peers.json"
OF_SYSTEM = ("name", "setting", "version", "threads")
OF_CELL = (*cells.LEAST, *cells.MOST, "model_bytes", "ranking", "runs", "same_ranking")


def assemble(set_names: Iterable[str] = SETS) -> dict[str, Any]:
    """Return the result of all cells that are in the store."""
    systems: dict[str, dict[str, Any]] = {}
    found = {}
    for name in set_names:
        if any(cells.read(name, peer) for peer in PEERS):
            print(f"measuring the rankings of {name} ...", file=sys.stderr)
            found[name] = of_set(sets.load(name), systems)
    ordered = {peer: systems[peer] for peer in PEERS if peer in systems}
    return {"machine": machine_line(), "limits": LIMITS, "systems": ordered, "sets": found}


def of_set(data: sets.LabelSet, systems: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the measured cells of a data set; facts about a system that hold on every data set go to `systems`."""
    digest = cells.rows_digest(data)
    known = {peer: cell for peer in PEERS if (cell := cells.read(data.name, peer)) and cell["stamp"]["rows"] == digest}
    measured = Measured(data)
    judged, rows = {}, {}
    for peer, cell in known.items():
        if "failed" in cell:
            rows[peer] = {"failed": cell["failed"]}
            continue
        systems.setdefault(
            peer,
            {key: cell[key] for key in OF_SYSTEM}
            | {"kind": PEERS[peer].kind, "lines": lines_written(HERE / "systems" / f"{PEERS[peer].script}.py")},
        )
        ranked = Ranked(*cells.ranking(data.name, peer))
        judged[peer] = measured.judged(ranked)
        rows[peer] = {key: shortened(cell[key]) for key in OF_CELL if key in cell}
        rows[peer]["more"] = {k: shortened(v) for k, v in cell.items() if k.startswith("also_")}
        rows[peer]["accuracy"] = {m: with_interval(*judged[peer][m]) for m in MEASURES}
        rows[peer]["by_frequency"] = measured.by_frequency(ranked)
    if OURS in judged:
        for peer in judged.keys() - {OURS}:
            rows[peer]["ours_less_it"] = {m: difference(judged[OURS][m], judged[peer][m]) for m in MEASURES}
    return {
        "description": data.describe(),
        "rows": data.X_train.shape[0],
        "labels": data.n_train_labels,
        "buckets": dict(zip(bucket_names(), measured.pairs_by_frequency(), strict=True)),
        "cells": rows,
    }


def shortened(value: Any) -> Any:
    """Round a number to six digits."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def write(result: dict[str, Any], path: Path = RESULT) -> None:
    """Write a result with one line per list."""
    text = json.dumps(result, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def read(path: Path = RESULT) -> dict[str, Any]:
    return json.loads(path.read_text())
