"""Write a snapshot in a process of its own: the last snapshot and the journal give the same state as the writer's.

So the writer neither stops for it nor holds its state twice, and each snapshot proves that snapshot and journal can
be read.
"""

import subprocess
import sys
from pathlib import Path

from abound.errors import AboundError
from abound.server.home import Home
from abound.server.replay import follow
from abound.store.journal import Journal


def write_snapshot(home: Home, sequence: int) -> None:
    """Bring a fresh replica to a sequence, and write its snapshot, in this process."""
    with Journal(home.journal_path) as journal:
        replica = home.load_replica(journal)
        follow(replica, journal, sequence)
        home.write_snapshot(replica)


def start_snapshot(home: Home, sequence: int) -> "subprocess.Popen[bytes]":
    """Begin to write a snapshot in another process; what goes wrong stands on its stderr."""
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
