"""Measure servers that share a journal in PostgreSQL, all on this machine.

    python -m benchmarks.several_machines throughput     # records a second against bare inserts of the same bytes
    python -m benchmarks.several_machines latency        # rankings of three servers against one with SQLite
    python -m benchmarks.several_machines recovery       # after kill -9, and of a new machine with an empty directory

The database has its default settings, so that each commit is on disk. `--folder` is where it and the homes are; it must
be on a disk, and other users must be able to enter it, because PostgreSQL does not run as root.
"""

import argparse
import json
import os
from pathlib import Path

from benchmarks.machine import machine_line
from benchmarks.several_machines import latency, recovery, throughput

RESULTS = Path(__file__).parents[1] / "results" / "several-machines.json"
COMMANDS = {"throughput": throughput.measure, "latency": latency.measure, "recovery": recovery.measure}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=COMMANDS)
    parser.add_argument("--folder", type=Path, default=Path("/tmp"), help="a directory on a disk")  # noqa: S108
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    before = os.getloadavg()[0]
    found = COMMANDS[arguments.what](arguments.folder)
    command = f"python -m benchmarks.several_machines {arguments.what}"
    load = [round(before, 1), round(os.getloadavg()[0], 1)]  # before it began, and when it ended
    results[arguments.what] = {"command": command, "machine": machine_line(), "load_average": load, **found}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results[arguments.what], indent=1))


if __name__ == "__main__":
    main()
