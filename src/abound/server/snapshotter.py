"""Write a snapshot in a separate process: the last snapshot and the journal give the same state as the writer's.

The writer therefore does not stop and needs no second copy of its state. Each snapshot also proves that the last
snapshot and the journal can be read.
"""

import sys

from abound.errors import AboundError
from abound.server.children import Child, receive_task
from abound.server.history import NoHistory
from abound.server.home import Home
from abound.server.replay import follow
from abound.store.journal import Journal


def write_snapshot(home: Home, sequence: int) -> None:
    """Load a replica, replay the journal to a sequence and write its snapshot, in this process."""
    with Journal(home.journal_path) as journal:
        replica = home.load_replica(journal, upto=sequence)
        replica.history = NoHistory()
        follow(replica, journal, sequence, lineage=journal.lineage())
        home.write_snapshot(replica)


def start_snapshot(home: Home, sequence: int) -> Child:
    """Start a process that writes a snapshot; it reports errors on its stderr."""
    return Child("abound.server.snapshotter", {"home": str(home.path), "sequence": sequence})


def _main() -> int:
    task = receive_task()
    try:
        write_snapshot(Home(task["home"]), task["sequence"])
    except (AboundError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
