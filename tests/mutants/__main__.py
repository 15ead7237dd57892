"""Test the tests: change the source in one place at a time, and count how often a test fails.

python -m tests.mutants FOLDER --sample 600 --seed 0    measure coverage, make mutants, and run the tests of each
python -m tests.mutants FOLDER --again tests/x.py ...   measure new tests, and run the survivors against all their tests
python -m tests.mutants FOLDER --report                 print the shares and the mutants that survived

FOLDER keeps what was done, so that a run can be stopped and resumed. The packages cosmic-ray and pytest-cov must be
installed.
"""

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutants.covering import Covering, add, measure
from tests.mutants.running import Runner
from tests.mutants.sources import GROUPS, Mutant, sample

Outcome = dict[str, Any]
SURVIVORS = ("survived", "not covered")
ALL = (10_000, 600.0)  # tests of a mutant, and their seconds


def known(folder: Path) -> list[Outcome]:
    path = folder / "outcomes.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(folder: Path, n: int, seed: int) -> None:
    """Run the mutants of a sample that have no outcome yet."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "covering.json"
    if not kept.exists():
        measure(folder).save(kept)
    runner = Runner(folder, Covering.load(kept))
    for test in runner.leave_out_failing():
        print(f"left out, it fails without a mutant: {test}", flush=True)
    done = {(one["path"], one["operator"], one["occurrence"]) for one in known(folder)}
    for mutant in sample(n, seed):
        if (mutant.path, mutant.operator, mutant.occurrence) not in done:
            write(folder, asdict(mutant) | runner.run(mutant))


def again(folder: Path, tests: list[str]) -> None:
    """Run the mutants that survived once more, against all tests that execute their lines, and against new tests."""
    covering = Covering.load(folder / "covering.json")
    add(covering, folder, tests)
    covering.save(folder / "covering.json")
    runner = Runner(folder, covering, limits=ALL)
    runner.leave_out_failing()
    for outcome in latest(known(folder)):
        if outcome["outcome"] in SURVIVORS:
            mutant = Mutant(outcome["path"], outcome["operator"], outcome["occurrence"], outcome["line"])
            write(folder, asdict(mutant) | runner.run(mutant))


def latest(outcomes: list[Outcome]) -> list[Outcome]:
    """Return the last outcome of each mutant."""
    return list({(one["path"], one["operator"], one["occurrence"]): one for one in outcomes}.values())


def write(folder: Path, outcome: Outcome) -> None:
    with open(folder / "outcomes.jsonl", "a") as file:
        file.write(json.dumps(outcome) + "\n")
    print(f"{outcome['outcome']:26} {outcome['path']}:{outcome['line']} {outcome.get('after', '')}", flush=True)


def report(outcomes: list[Outcome]) -> list[str]:
    """Return the share of killed mutants of each group, and the mutants that survived."""
    lines = []
    for group in (*GROUPS, ""):
        counts = Counter(one["outcome"] for one in outcomes if one["path"].startswith(f"src/abound/{group}"))
        killed, total = counts["killed"] + counts["killed by the time limit"], sum(counts.values())
        if total:
            lines.append(f"{group or 'all'}: {killed} of {total} killed, {killed / total:.1%}; {dict(counts)}")
    for one in outcomes:
        if one["outcome"] in SURVIVORS:
            lines.append(f"{one['path']}:{one['line']} {one['outcome']}: {one.get('before')}  ->  {one.get('after')}")
    return lines


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", nargs="*", metavar="TEST")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args(argv)
    if given.again is not None:
        again(given.folder.resolve(), given.again)
    elif not given.report:
        run(given.folder.resolve(), given.sample, given.seed)
    print("\n".join(report(latest(known(given.folder)))))


if __name__ == "__main__":
    main()
