"""Generated data sets with the sub-folders and file formats of the data folder, for machines that have none.

Each label has words, features or tastes of its own, with noise, so that the rankers can learn it. Every file is the
same each time. `counts.json` has the number of records of each file. Only what the tests read is written.
"""

import json
from pathlib import Path

from tests.made_data import queries, ratings, texts, titles, vectors

COUNTS = "counts.json"


def write(folder: Path) -> None:
    """Write all data sets, in a few seconds."""
    counts: dict[str, int] = {}
    for family in (titles, texts, vectors, queries, ratings):
        counts.update(family.write(folder))
    (folder / COUNTS).write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
