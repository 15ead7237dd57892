"""Fuzz with atheris, guided by code coverage.

python -m tests.fuzz text                  one target, until it is stopped or fails
python -m tests.fuzz text --runs 100000    this number of inputs
python -m tests.fuzz all --runs 20000      every target once, each with its share of the inputs
python -m tests.fuzz all --runs 10000000 --json benchmarks/results/fuzz.json
                                           repeatedly, until the file counts this number of inputs; resumable
python -m tests.fuzz calls --runs 2000000 --json benchmarks/results/fuzz.json
                                           public calls with hostile arguments, without atheris, until the file counts
                                           this number; calls under .ci/sanitized are counted separately
python -m tests.fuzz seeds                 regenerate the corpus

An input that fails is written to the current folder as crash-...; move it to tests/fuzz/corpus/<target> and fix the
defect; from then on, the tests run it. Inputs that reach new code are kept in .cache/fuzz, where the next run starts.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.fuzz import calls

CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / ".cache" / "fuzz"
# Shares of the inputs. A record is decoded 40,000 times per second, a journal opened and read 100 times.
SHARES = {
    "api": 2,
    "record": 300,
    "compressed": 255,
    "manifest": 55,
    "read-parquet": 55,
    "text": 19,
    "model": 2,
    "journal": 1,
}
READER_SHARE = 25
LONGEST_INPUT = {"manifest": 4000, "read-parquet": 2000}  # so that a complete one fits
LONGEST_SECONDS = 20  # for one input
SECONDS_OF_A_GO = 120


def one(target: str, runs: int, seconds: int) -> None:
    """Fuzz one target in this process, which atheris exits."""
    import atheris

    with atheris.instrument_imports(include=["abound"]):
        from tests.fuzz.targets import TARGETS
    found = FOUND / target
    found.mkdir(parents=True, exist_ok=True)
    arguments = [f"-atheris_runs={runs}", f"-max_len={LONGEST_INPUT.get(target, 600)}", f"-timeout={LONGEST_SECONDS}"]
    arguments += [f"-max_total_time={seconds}", "-rss_limit_mb=3000", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *arguments, str(found), str(CORPUS / target)], TARGETS[target])
    atheris.Fuzz()


def wanted(names: list[str], runs: int) -> dict[str, int]:
    """Return the number of inputs for each target."""
    parts = {name: SHARES.get(name, READER_SHARE) for name in names}
    return {name: -(-runs * part // sum(parts.values())) for name, part in parts.items()}


def go(name: str, runs: int, seconds: int) -> tuple[int, bool]:
    """Fuzz one target in a separate process; return the number of new inputs, and whether none failed."""
    command = [sys.executable, "-m", "tests.fuzz", name, "--runs", str(runs), "--seconds", str(seconds)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    # atheris first reads the inputs of earlier runs again; they are not counted twice.
    known = re.search(r"^#(\d+)\s+INITED", run.stderr, re.MULTILINE)
    # Use the last line, not the exit code: on a busy machine, atheris' alarm may go off while Python shuts down.
    done = re.search(r"^Done (\d+) (?:runs )?in", run.stderr, re.MULTILINE)
    if done is None:
        print(run.stdout[-2000:] + run.stderr[-4000:], file=sys.stderr)
        return 0, False
    return int(done[1]) - (int(known[1]) if known else 0), True


def run_all(names: list[str], runs: int, seconds: int, path: Path | None) -> int:
    """Run the targets in turn; return how many had an input that failed.

    With a file, continue until it counts the given number of inputs; without one, each target has one turn.
    """
    counts: dict[str, int] = json.loads(path.read_text())["inputs"] if path is not None and path.exists() else {}
    failed: list[str] = []
    left = [name for name, goal in wanted(names, runs).items() if counts.get(name, 0) < goal]
    while left:
        for name in left:
            start = time.perf_counter()
            count, whole = go(name, wanted(names, runs)[name] - counts.get(name, 0), seconds or SECONDS_OF_A_GO)
            counts[name] = counts.get(name, 0) + count
            failed += [] if whole else [name]
            seconds_taken = time.perf_counter() - start
            print(f"{name:18} {count:>10,} inputs in {seconds_taken:7.1f} s, {counts[name]:>10,} in all", flush=True)
            if path is not None:
                write(path, counts, failed)
        goals = wanted(names, runs) if path is not None else {}
        left = [name for name, goal in goals.items() if counts[name] < goal and name not in failed]
    return len(failed)


def write(path: Path, counts: dict[str, int], failed: list[str]) -> None:
    """Write the counts so far."""
    from abound.kernels import BOUNDS_CHECKED
    from benchmarks.machine import machine_line

    result: dict[str, Any] = {
        "machine": machine_line(),
        "atheris": version("atheris"),
        "bounds_checked": BOUNDS_CHECKED,
    }
    if path.exists() and "calls" in (kept := json.loads(path.read_text())):  # of tests.fuzz.calls
        result["calls"] = kept["calls"]
    path.write_text(json.dumps({**result, "inputs": counts, "failed": failed}, indent=1, sort_keys=True) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", help="a target, all, calls or seeds")
    parser.add_argument(
        "--runs", type=int, default=-1, help="maximum number of inputs; with --json, the total in the file"
    )
    parser.add_argument("--seconds", type=int, default=0, help="maximum seconds for each turn of a target")
    parser.add_argument("--json", type=Path, help="result file that counts the inputs of 'all'")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of one batch of 'calls' (target 'go')")
    parser.add_argument("--only", nargs="+", help="run only these targets of 'all'")
    args = parser.parse_args()
    if args.target == "seeds":
        from tests.fuzz.seeds import write_seeds

        write_seeds(CORPUS)
        return 0
    if args.target == "calls":
        return calls.run(args.runs, args.seconds, args.json)
    if args.target == "go":
        calls.one_go(args.seed, calls.INPUTS_OF_A_GO, args.seconds)
        return 0
    if args.target == "all":
        return run_all(args.only or sorted(path.name for path in CORPUS.iterdir()), args.runs, args.seconds, args.json)
    one(args.target, args.runs, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
