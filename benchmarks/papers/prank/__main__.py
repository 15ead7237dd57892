"""Reproduce "Pranking with ranking" (Crammer and Singer, NIPS 2001).

python -m benchmarks.papers.prank                    short run: 6 seeds, about 2 minutes on one core
python -m benchmarks.papers.prank --full             100 seeds, as many sequences and people as in the paper: 25 minutes
python -m benchmarks.papers.prank --movielens FILE   figure 3 on MovieLens' u.data, ratings.dat or ratings.csv
python -m benchmarks.papers.prank --draw             only the tables and the pictures, from the result file

Every seed of an experiment is stored in .cache when it is done: a run that was interrupted continues there, and the
full run uses the seeds of the short one. Then `python -m benchmarks.readme` writes docs/papers/prank.md.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_line
from benchmarks.papers.prank import plan, tables
from benchmarks.papers.prank.cells import CACHE, Cells

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks" / "results"
SIZES = {"short": plan.SHORT, "full": plan.FULL, "tiny": plan.TINY}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run the experiments, print the tables, and write the result file and the pictures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.prank",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", dest="run", action="store_const", const="full", help="100 seeds instead of 6")
    size.add_argument("--tiny", dest="run", action="store_const", const="tiny", help="seconds, to check that it runs")
    parser.add_argument("--seeds", type=int, help="another number of seeds, at least 6")
    parser.add_argument("--movielens", type=Path, metavar="FILE", help="run figure 3 on this file instead")
    parser.add_argument("--least", type=int, nargs="+", default=[100, 200], help="ratings of a viewer, for --movielens")
    parser.add_argument("--draw", action="store_true", help="run nothing, print and draw the result file")
    parser.add_argument("--json", type=Path, help="the result file")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images", help="the folder for the pictures")
    parser.add_argument("--cells", type=Path, default=CACHE, help="the folder in which seeds are stored")
    options = parser.parse_args(arguments)
    output = options.json or RESULTS / ("prank-movielens.json" if options.movielens else "prank-paper.json")
    if options.draw:
        result = json.loads(output.read_text())
    else:
        name, cells = options.run or "short", Cells(options.cells)
        chosen = SIZES[name]
        if options.seeds is not None:
            if options.seeds < plan.SHORT.seeds:
                parser.error(f"--seeds must be at least {plan.SHORT.seeds}, got {options.seeds}")
            name, chosen = f"{options.seeds}-seed", replace(chosen, seeds=options.seeds)
        if options.movielens:
            found = plan.run_movielens(options.movielens, chosen, cells, tuple(options.least))
        else:
            found = plan.run(chosen, cells)
        result = {"machine": machine_line(), "run": name, "processor_seconds": cells.seconds, **found}
        output.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(tables.report(result)))
    from benchmarks.papers.prank import pictures

    pictures.draw(result, options.images)
    return result


if __name__ == "__main__":
    main()
