"""Write a snapshot in a separate process: the last snapshot and the journal give the same state as the writer's.

The writer therefore does not stop and needs no second copy of its state. Each snapshot also proves that the last
snapshot and the journal can be read.
"""

import subprocess
import sys
from pathlib import Path

from abound.errors import AboundError
from abound.server.home import Home
from abound.server.replay import follow
from abound.store.journal import Journal


def write_snapshot(home: Home, sequence: int) -> None:
    """Load a replica, replay the journal to a sequence and write its snapshot, in this process."""
    with Journal(home.journal_path) as journal:
        replica = home.load_replica(journal)
        follow(replica, journal, sequence)
        home.write_snapshot(replica)


def start_snapshot(home: Home, sequence: int) -> "subprocess.Popen[bytes]":
    """Start a process that writes a snapshot; it reports errors on its stderr."""
    command = [sys.executable, "-m", "abound.server.snapshotter", str(home.path), str(sequence)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _main(path: str, sequence: str) -> int:
    try:
        write_snapshot(Home(Path(path)), int(sequence))
    except (AboundError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
