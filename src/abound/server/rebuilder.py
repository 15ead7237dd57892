"""Build the state of another lineage in a separate process: without some records, or on another base model.

The process loads the newest snapshot of the lineage, or the base model, replays the journal and writes the state beside
the snapshots. The writer goes on meanwhile, and then switches to it.
"""

import gc
import json
import sys
from pathlib import Path
from typing import NamedTuple

from abound.errors import AboundError, RefusedRecord
from abound.server.children import Child, receive_task
from abound.server.history import NoHistory
from abound.server.home import Home
from abound.server.replay import follow
from abound.server.replica import Replica
from abound.store.journal import Journal, Lineage, StoredRecord
from abound.store.journal.records import LABEL_EDITS


class Rebuilt(NamedTuple):
    """The result: the sequence of the state, and label edits that cannot be applied to it, with the first reason."""

    sequence: int
    dependent: list[int]
    reason: str


def rebuild(home: Home, lineage: Lineage, path: Path, *, strict: bool) -> Rebuilt:
    """Write the state of a lineage at the end of the journal to a path, in this process.

    If `strict`, nothing is written if a label edit cannot be applied that can be applied today.
    """
    with Journal(home.journal_path) as journal:
        replica, failed = _replay(home, journal, lineage)
        if strict and failed and journal.lineage().base:  # on another base, some edits may fail anyway
            _, before = _replay(home, journal, journal.lineage())
            failed = {number: reason for number, reason in failed.items() if number not in before}
        if strict and failed:
            return Rebuilt(replica.sequence, list(failed), next(iter(failed.values())))
        replica.save(path)
        return Rebuilt(replica.sequence, [], "")


def _replay(home: Home, journal: Journal, lineage: Lineage) -> tuple[Replica, dict[int, str]]:
    failed: dict[int, str] = {}

    def check(replica: Replica, stored: StoredRecord) -> bool:
        if isinstance(stored.record, LABEL_EDITS):
            try:
                replica.check(stored.record)
            except RefusedRecord as error:
                failed[stored.sequence] = str(error)
        return True  # it is applied as far as possible, so that edits that depend on it are found, too

    replica = home.load_replica(journal, lineage=lineage)
    replica.history = NoHistory()
    if journal.start > replica.sequence:
        raise AboundError(
            f"the records {replica.sequence + 1} to {journal.start} are no longer kept, and are needed for this"
        )
    follow(replica, journal, lineage=lineage, check=check)
    return replica, failed


def start_rebuild(home: Home, lineage: Lineage, path: Path, *, strict: bool) -> Child:
    """Start a process that rebuilds a state; it prints the result, or an error on its stderr."""
    task = {"home": str(home.path), "path": str(path), "strict": strict}
    return Child("abound.server.rebuilder", {**task, "base": lineage.base, "excluded": lineage.excluded})


def _main() -> int:
    task = receive_task()
    gc.disable()  # a replay makes no cycles
    lineage = Lineage(task["base"], tuple(task["excluded"]))
    try:
        result = rebuild(Home(task["home"]), lineage, Path(task["path"]), strict=task["strict"])
    except (AboundError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(result._asdict()))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
