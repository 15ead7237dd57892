"""Compare PRank with mord and scikit-learn on ordinal tasks from real data.

python -m benchmarks.papers.ordinal_peers                 all tasks, all systems, three rounds
python -m benchmarks.papers.ordinal_peers --show          print the table of the last run
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.metrics import evaluate_ranks
from benchmarks.machine import machine_line
from benchmarks.papers.ordinal_tasks import TASKS
from benchmarks.peers.environments import interpreter
from benchmarks.sets import CACHE

SCRIPT = Path(__file__).parents[1] / "peers" / "systems" / "ordinal.py"
OUTPUT = Path(__file__).parents[1] / "results" / "ordinal-peers.json"
SYSTEMS = {  # with the environment of each; None is ours
    "PRank": None,
    "PRank 1 pass": None,
    "mord LogisticAT": "mord",
    "mord LogisticIT": "mord",
    "LogisticRegression": "mord",
    "Ridge rounded": "mord",
}
MEASURES = ("MAE", "macro_MAE", "kappa", "within_one")
SECONDS = 3 * 60  # a run that takes longer is listed as not finished


def write_task(name: str) -> Path:
    """Write the parts of a task for the systems to read, unless they exist."""
    folder = CACHE.parent / "ordinal" / name
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for number, part in enumerate(TASKS[name]()):
            for matrix in ("X_train", "X_test"):
                sp.save_npz(folder / f"{matrix}-{number}.npz", getattr(part, matrix), compressed=False)
            np.save(folder / f"y_train-{number}.npy", part.y_train)
            np.save(folder / f"y_test-{number}.npy", part.y_test)
        (folder / "done").touch()
    return folder


def run_once(system: str, source: Path, target: Path) -> dict[str, Any]:
    command = [interpreter(SYSTEMS[system]), SCRIPT, system, source, target]
    try:
        done = subprocess.run(command, timeout=SECONDS, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished after {SECONDS} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads((target / "figures.json").read_text())


def measure(source: Path, target: Path) -> dict[str, float]:
    """Average the measures over the parts of a task."""
    parts = []
    for number in range(len(list(source.glob("y_test-*.npy")))):
        true, predicted = np.load(source / f"y_test-{number}.npy"), np.load(target / f"predicted-{number}.npy")
        parts.append(evaluate_ranks(true, predicted, MEASURES))
    return {name: float(np.mean([part[name] for part in parts])) for name in MEASURES}


def run_task(name: str, systems: list[str], rounds: int) -> dict[str, Any]:
    """Run the systems in turn; do not retry failures, and keep earlier measurements."""
    source, outputs = write_task(name), CACHE.parent / "runs" / f"ordinal-{name}"
    X, y = sp.load_npz(source / "X_train-0.npz"), np.load(source / "y_train-0.npy")
    about = {"rows": X.shape[0], "features": X.shape[1], "ranks": len(np.unique(y))}
    results: dict[str, Any] = {}
    for turn in range(rounds):
        for system in systems:
            if "failed" in results.get(system, {}):
                continue
            figures = run_once(system, source, outputs / system)
            if "failed" not in figures:
                best = min(figures["train_seconds"], results.get(system, figures)["train_seconds"])
                figures = {**figures, "train_seconds": best, **measure(source, outputs / system)}
                results[system] = figures
            results.setdefault(system, figures)
            print(f"{name}, round {turn + 1}: {system} {figures}", file=sys.stderr)
    return {**about, "rounds": rounds, "systems": results}


def show(result: dict[str, Any]) -> None:
    print(f"{result['machine']}; the best training time of the rounds, in turn")
    for task, outcome in result["tasks"].items():
        print(
            f"\n{task}: {outcome['rows']:,} rows, {outcome['features']:,} features, {outcome['ranks']} ranks, "
            f"rounds: {outcome['rounds']}"
        )
        print(f"{'system':26}{'MAE':>8}{'macro':>8}{'kappa':>8}{'within 1':>10}{'train s':>10}")
        for system, f in outcome["systems"].items():
            if "failed" in f:
                print(f"{system:26} {f['failed']}")
                continue
            line = f"{system:26}{f['MAE']:>8.3f}{f['macro_MAE']:>8.3f}{f['kappa']:>8.3f}{f['within_one']:>10.3f}"
            print(f"{line}{f['train_seconds']:>10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.ordinal_peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tasks", default=",".join(TASKS), help="comma-separated names")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="comma-separated names")
    parser.add_argument("--rounds", type=int, default=3, help="number of runs of each system, in turn")
    parser.add_argument("--json", type=Path, default=OUTPUT, help="result file")
    parser.add_argument("--show", action="store_true", help="print the stored result")
    arguments = parser.parse_args()
    if arguments.show:
        show(json.loads(arguments.json.read_text()))
        return
    result: dict[str, Any] = {"machine": machine_line(), "tasks": {}}
    if arguments.json.exists():  # tasks and systems that are not run again keep their figures
        result["tasks"] = json.loads(arguments.json.read_text())["tasks"]
    for name in arguments.tasks.split(","):
        outcome = run_task(name, arguments.systems.split(","), arguments.rounds)
        known = result["tasks"].get(name, {}).get("systems", {})
        result["tasks"][name] = {**outcome, "systems": {**known, **outcome["systems"]}}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    show(result)


if __name__ == "__main__":
    main()
