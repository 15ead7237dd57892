"""Fetch and check the data sets of the final comparison.

python -m benchmarks.locked fetch FOLDER     download the packages with apt-get (Debian 12), and extract the rows
python -m benchmarks.locked check FOLDER     compare the files with benchmarks/locked.json
python -m benchmarks.locked record FOLDER    write benchmarks/locked.json, after an extraction has changed

FOLDER is that of ABOUND_LOCKED, or .cache/locked, if it is not given. No setting, constant or feature is chosen on
these data sets: each system is trained and tested on them once.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.locked import fetch, files


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.locked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["fetch", "check", "record"])
    parser.add_argument("folder", nargs="?", type=Path, default=files.folder())
    given = parser.parse_args(argv)
    if given.command == "fetch":
        fetch.fetch(given.folder)
    elif given.command == "record":
        record = {name: fetch.describe(name, given.folder) for name in files.NAMES}
        fetch.RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    wrong = fetch.differences(given.folder, json.loads(fetch.RECORD.read_text(encoding="utf-8")))
    if wrong:
        sys.exit("\n".join(wrong))
    print("all files are as benchmarks/locked.json describes them")


if __name__ == "__main__":
    main()
