"""What the measurements share: a database on disk, and records of real titles."""

import contextlib
import json
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abound.store.journal import Entry, Origin
from abound.store.journal.records import Learn

TITLES = Path(__file__).parents[2] / "examples" / "finna" / "titles.jsonl"


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Any]:
    """Run PostgreSQL with its default settings; yield it."""
    from tests.store.postgres import Cluster

    with tempfile.TemporaryDirectory(prefix="abound-postgres-", dir=folder, ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        with Cluster(Path(place) / "cluster") as one:
            yield one


def titles() -> list[dict[str, Any]]:
    """Return the rows of the example data set."""
    with TITLES.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def entries(n: int) -> list[Entry]:
    """Return corrections as a server writes them, each with a key of its own."""
    rows, origin = titles(), Origin("someone", "api")
    chosen = [rows[number % len(rows)] for number in range(n)]
    return [Entry(Learn(row["text"], added=tuple(row["labels"])), f"{secrets.token_hex(16)}", origin) for row in chosen]
