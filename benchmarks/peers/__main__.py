"""Run systems on a set and print them side by side.

python -m benchmarks.peers --set finna-100k --peers abound,omikuji,fasttext --json benchmarks/results/finna-100k.json
python -m benchmarks.peers --show benchmarks/results/finna-100k.json
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.metrics import Judgement, compare, interval, judge
from benchmarks import sets
from benchmarks.machine import machine_line

HERE = Path(__file__).parent
MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "nDCG@5")
SECONDS = 20 * 60  # a run that takes longer is listed as not finished


@dataclass(frozen=True)
class Peer:
    """A system: its script, its environment, and the largest label set that it can finish."""

    script: str
    environment: str | None  # the name of a requirements file; None is the environment that we run in
    most_labels: int = 10**9


PEERS = {
    "abound": Peer("abound_cascade", None),
    "two-passes": Peer("abound_cascade_two", None),
    "index": Peer("abound_index", None),
    "mmp": Peer("abound_mmp", None),
    "omikuji": Peer("omikuji_default", "omikuji"),
    "fasttext": Peer("fasttext_hs", "fasttext"),
    "linearsvc": Peer("sklearn_linearsvc", "sklearn", most_labels=2000),
    "pecos": Peer("pecos_xlinear", "pecos"),
    "sgd": Peer("sklearn_sgd", "sklearn", most_labels=2000),
    "vw": Peer("vw_plt", "vw"),
}
DEFAULT_PEERS = "abound,index,omikuji,pecos,fasttext,linearsvc"


@dataclass(frozen=True)
class Ranked:
    """Label numbers and scores that a system wrote."""

    indices: Any
    scores: Any


def interpreter(environment: str | None) -> str:
    """Return the Python of an environment, made and filled at its first use."""
    if environment is None:
        return sys.executable
    requirements = HERE / "requirements" / f"{environment}.txt"
    folder = sets.CACHE.parent / "environments" / environment
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        print(f"making the environment of {environment} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "-r", requirements], check=True)
        stamp.write_text(requirements.read_text())
    return str(folder / "bin" / "python")


def run_once(peer: Peer, rows: Path, output: Path) -> dict[str, Any]:
    """Run a system in a process of its own and return its figures, or why it has none."""
    script = HERE / "systems" / f"{peer.script}.py"
    try:
        command = [interpreter(peer.environment), script, rows, output]
        done = subprocess.run(command, timeout=SECONDS, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished after {SECONDS} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    return json.loads((output / "figures.json").read_text())


def best_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep the least time, the highest rate and the least memory of several runs."""
    best = dict(runs[0])
    for run in runs[1:]:
        for key in ("train_seconds", "peak_megabytes"):
            best[key] = min(best[key], run[key])
        for key in ("rows_a_second_batch", "rows_a_second_single"):
            best[key] = max(best[key], run[key])
    return {**best, "runs": len(runs)}


def run_all(name: str, peers: list[str], rounds: int) -> dict[str, Any]:
    """Run the systems in turn, several rounds, so that a busy moment of the machine hits all alike."""
    data = sets.load(name)
    rows, outputs = sets.CACHE / name, sets.CACHE.parent / "runs" / name
    print(data.describe(), file=sys.stderr)
    runs: dict[str, list[dict[str, Any]]] = {peer: [] for peer in peers}
    failed: dict[str, str] = {}
    for turn in range(rounds):
        for peer in peers:
            if peer in failed:
                continue
            if data.n_train_labels > PEERS[peer].most_labels:
                failed[peer] = f"not run: it trains a model for each of {data.n_train_labels:,} labels"
                continue
            figures = run_once(PEERS[peer], rows, outputs / peer)
            if "failed" in figures:
                failed[peer] = figures["failed"]
            else:
                runs[peer].append(figures)
                print(f"round {turn + 1}: {peer} trained in {figures['train_seconds']:.2f} s", file=sys.stderr)
    return {
        "set": name,
        "description": data.describe(),
        "machine": machine_line(),
        "systems": {peer: best_of(done) for peer, done in runs.items() if done} | add_failures(failed),
    } | accuracies(data, [peer for peer in peers if runs[peer]], outputs)


def add_failures(failed: dict[str, str]) -> dict[str, dict[str, str]]:
    return {peer: {"name": peer, "failed": why} for peer, why in failed.items()}


def accuracies(data: sets.LabelSet, peers: list[str], outputs: Path) -> dict[str, Any]:
    """Measure what each system ranked, and the first one against each other on the same rows."""
    counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
    judged: dict[str, Judgement] = {}
    for peer in peers:
        with np.load(outputs / peer / "ranking.npz") as ranked:
            ranking = Ranked(ranked["indices"], ranked["scores"])
        judged[peer] = judge(
            sp.csr_array(data.Y_test), ranking, label_counts=counts, n_train_rows=data.X_train.shape[0]
        )
    accuracy = {peer: {m: interval(m, judged[peer]) for m in MEASURES} for peer in peers}
    first = peers[0]
    differences = {
        peer: {m: compare(m, judged[first], judged[peer]) for m in MEASURES} for peer in peers if peer != first
    }
    return {"accuracy": accuracy, "differences": {"of": first, "to": differences}}


def show(result: dict[str, Any]) -> None:
    """Print a result as a table."""
    print(f"{result['description']}\n{result['machine']}\n")
    head = f"{'system':24}{'threads':>8}{'train s':>9}{'rows/s batch':>14}{'one by one':>12}{'MB':>7}{'disk MB':>9}"
    print(head + "".join(f"{m:>8}" for m in MEASURES))
    for peer, figures in result["systems"].items():
        if "failed" in figures:
            print(f"{figures['name']:24} {figures['failed']}")
            continue
        line = f"{figures['name']:24}{figures['threads']:>8}{figures['train_seconds']:>9.2f}"
        line += f"{figures['rows_a_second_batch']:>14,.0f}{figures['rows_a_second_single']:>12,.0f}"
        line += f"{figures['peak_megabytes']:>7.0f}{figures['model_bytes'] / 1e6:>9.1f}"
        print(line + "".join(f"{result['accuracy'][peer][m][0]:>8.4f}" for m in MEASURES))
    first = result["differences"]["of"]
    ours = result["systems"][first]
    for peer, differences in result["differences"]["to"].items():
        theirs = result["systems"][peer]
        print(f"\n{ours['name']} against {theirs['name']} {theirs['version']} ({theirs['setting']}):")
        print(
            f"  training {theirs['train_seconds'] / ours['train_seconds']:.1f} times as fast, ranking "
            f"{ours['rows_a_second_batch'] / theirs['rows_a_second_batch']:.0f} times in batch, "
            f"{ours['rows_a_second_single'] / theirs['rows_a_second_single']:.0f} times one row at a time"
        )
        for m, (value, low, high) in differences.items():
            print(f"  {m:7} {value:+.4f}   95% interval {low:+.4f} to {high:+.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=sorted(sets.RECIPES), help="the data set")
    parser.add_argument(
        "--peers", default="abound,index,omikuji,pecos,fasttext,linearsvc", help="names, parted by commas"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each system runs, in turn")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--show", type=Path, help="print a result that was written before")
    arguments = parser.parse_args()
    if arguments.show:
        show(json.loads(arguments.show.read_text()))
        return
    if not arguments.set:
        parser.error("give --set NAME, or --show FILE")
    peers = arguments.peers.split(",")
    for peer in peers:
        if peer not in PEERS:
            parser.error(f"unknown peer {peer!r}; known are {', '.join(PEERS)}")
    result = run_all(arguments.set, peers, arguments.rounds)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    show(result)


if __name__ == "__main__":
    main()
