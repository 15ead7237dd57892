"""Kill and cut servers that share a journal, and their database; check everything that clients saw.

    python -m tests.several --minutes 10 --kills 60 --cuts 60 --failovers 8 --pauses 20
    python -m tests.several --minutes 30 --kills 200 --cuts 200 --failovers 30 --json FILE

The outcome has no violations and no problems if every acknowledged record is in the journal once and in its place, if
all servers have the state that the journal makes, and if no client saw anything that one server could not have shown.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.several.failures import Plan, run


def main():
    from benchmarks.machine import machine_line

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    for name, default in (("kills", 60), ("cuts", 60), ("failovers", 8), ("pauses", 20), ("workers", 1), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", type=Path, help="add the outcome to this file")
    arguments = vars(parser.parse_args())
    file = arguments.pop("json")
    plan = Plan(**arguments)
    outcome = {"plan": asdict(plan), **run(plan, report=lambda words: print(words, file=sys.stderr, flush=True))}
    print(json.dumps(outcome, indent=1))
    if file is not None:
        runs = json.loads(file.read_text())["runs"] if file.exists() else []
        file.write_text(json.dumps({"machine": machine_line(), "runs": [*runs, outcome]}, indent=1) + "\n")
    sys.exit(bool(outcome["n_violations"] or outcome["n_problems"]))


if __name__ == "__main__":
    main()
