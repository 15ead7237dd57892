"""Test the tests: change the source in one place at a time, and count how often a test fails.

python -m tests.mutants FOLDER --sample 600 --seed 0    measure coverage, make mutants, and run the tests of each
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

from tests.mutants.covering import Covering, measure
from tests.mutants.running import Runner
from tests.mutants.sources import GROUPS, sample

Outcome = dict[str, Any]


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
    done = {(one["path"], one["operator"], one["occurrence"]) for one in known(folder)}
    for number, mutant in enumerate(sample(n, seed), 1):
        if (mutant.path, mutant.operator, mutant.occurrence) in done:
            continue
        outcome = asdict(mutant) | runner.run(mutant)
        with open(folder / "outcomes.jsonl", "a") as file:
            file.write(json.dumps(outcome) + "\n")
        print(f"{number:4} {outcome['outcome']:26} {mutant.path}:{mutant.line} {outcome.get('after', '')}", flush=True)


def report(outcomes: list[Outcome]) -> list[str]:
    """Return the share of killed mutants of each group, and the mutants that survived."""
    lines = []
    for group in (*GROUPS, ""):
        counts = Counter(one["outcome"] for one in outcomes if one["path"].startswith(f"src/abound/{group}"))
        killed, total = counts["killed"] + counts["killed by the time limit"], sum(counts.values())
        if total:
            lines.append(f"{group or 'all'}: {killed} of {total} killed, {killed / total:.1%}; {dict(counts)}")
    for one in outcomes:
        if one["outcome"] in ("survived", "not covered"):
            lines.append(f"{one['path']}:{one['line']} {one['outcome']}: {one.get('before')}  ->  {one.get('after')}")
    return lines


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args(argv)
    if not given.report:
        run(given.folder.resolve(), given.sample, given.seed)
    print("\n".join(report(known(given.folder))))


if __name__ == "__main__":
    main()
