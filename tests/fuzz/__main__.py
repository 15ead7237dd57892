"""Fuzz with atheris, which knows what code an input has reached.

python -m tests.fuzz text                  one target, until it is stopped or fails
python -m tests.fuzz text --runs 100000    so many inputs
python -m tests.fuzz all --runs 10000000   every target, each its share; writes benchmarks/results/fuzz.json
python -m tests.fuzz seeds                 write the corpus anew

An input that fails is left in the current folder as crash-...; put it into tests/fuzz/corpus/<target>, mend what it
shows, and it is tried for ever after.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks" / "results" / "fuzz.json"
# Shares of the inputs; those that make and use whole models, or open files, cost a thousand times the others.
SHARES = {"model": 0.01, "manifest": 0.02, "journal": 0.005, "read-parquet": 0.02, "text": 0.1, "record": 0.2}
SLOW = ("journal", "manifest", "model", "read-parquet")  # come last
LONGEST_INPUT = 600
LONGEST_SECONDS = 20  # for one input


def one(target: str, runs: int, seconds: int) -> None:
    """Fuzz one target in this process; atheris ends it."""
    import atheris

    with atheris.instrument_imports(include=["abound"]):
        from tests.fuzz.targets import TARGETS
    with tempfile.TemporaryDirectory() as found:
        arguments = [f"-atheris_runs={runs}", f"-max_len={LONGEST_INPUT}", f"-timeout={LONGEST_SECONDS}"]
        arguments += [f"-max_total_time={seconds}", "-rss_limit_mb=3000", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *arguments, found, str(CORPUS / target)], TARGETS[target])
        atheris.Fuzz()


def share(target: str, names: list[str]) -> float:
    """Return which part of the inputs a target gets."""
    rest = [name for name in names if name not in SHARES]
    if target in SHARES:
        return SHARES[target]
    return (1 - sum(SHARES[name] for name in names if name in SHARES)) / max(1, len(rest))


def run_all(names: list[str], runs: int, seconds: int, json_path: Path | None) -> int:
    """Fuzz every target in a process of its own; return how many failed."""
    from abound.kernels import BOUNDS_CHECKED
    from benchmarks.machine import machine_line

    counts, failed = {}, []
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz", name, "--runs", str(max(200, round(runs * share(name, names))))]
        start = time.perf_counter()
        run = subprocess.run([*command, "--seconds", str(seconds)], capture_output=True, text=True, check=False)
        done = re.findall(r"(?:stat::number_of_executed_units:|Done) *(\d+)", run.stderr)
        counts[name] = int(done[-1]) if done else 0
        # Whether it came to its end: on a busy machine, atheris' own alarm may still ring while Python shuts down.
        if not re.search(r"^Done \d+ in", run.stderr, re.MULTILINE):
            failed.append(name)
            print(run.stderr[-4000:], file=sys.stderr)
        print(f"{name:18} {counts[name]:>10,} inputs in {time.perf_counter() - start:7.1f} s")
        sys.stdout.flush()
        if json_path is not None:
            write(json_path, counts, failed, machine_line(), checked=BOUNDS_CHECKED)
    return len(failed)


def write(path: Path, counts: dict[str, int], failed: list[str], machine: str, *, checked: bool) -> None:
    """Add the inputs of this run to those of the file."""
    known = json.loads(path.read_text()) if path.exists() else {"inputs": {}}
    base = known.get("before", known["inputs"])
    total = {name: base.get(name, 0) + counts.get(name, 0) for name in {**base, **counts}}
    result = {"machine": machine, "bounds_checked": checked, "inputs": total, "failed": failed, "before": base}
    path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", help="a target, all or seeds")
    parser.add_argument("--runs", type=int, default=-1, help="inputs at the most")
    parser.add_argument("--seconds", type=int, default=0, help="seconds at the most, for each target")
    parser.add_argument("--json", type=Path, help="where to add up the counts of 'all'")
    parser.add_argument("--only", nargs="+", help="some of the targets of 'all'")
    args = parser.parse_args()
    if args.target == "seeds":
        from tests.fuzz.seeds import write_seeds

        write_seeds(CORPUS)
        return 0
    if args.target == "all":
        names = sorted((path.name for path in CORPUS.iterdir()), key=lambda name: (name in SLOW, name))
        return run_all(args.only or names, args.runs, args.seconds, args.json)
    one(args.target, args.runs, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
