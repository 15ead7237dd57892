"""Run a process that learns, writes snapshots and compacts until it is killed at a named point.

    python -m tests.server.driver HOME POINT HIT N SEED

It sends the first N records of a stream, prints the sequence number of each acknowledged one, and kills itself with
SIGKILL when POINT is reached for the HIT-th time. With POINT "none" it runs until it is killed from outside.
"""

import os
import shutil
import signal
import sys

from abound.server import Home, Replica, Writer
from abound.server.snapshotter import write_snapshot
from abound.store import directory
from abound.store.journal import Journal
from abound.store.journal.commit_marker import CommitMarker
from tests.server.streams import stream

SNAPSHOT_EVERY = 6


def _to_manifest(_, target):
    return str(target).endswith(directory.MANIFEST)


# The function called at each point: its module, its name, and which of its calls count.
CALLS = {
    "append": (Journal, "append", None),
    "insert": (Journal, "_insert", None),
    "commit": (Journal, "_commit", None),
    "marker": (CommitMarker, "write", None),
    "apply": (Replica, "apply", None),
    "change": (Replica, "_apply", None),
    "file": (directory, "write_array", None),
    "manifest": (os, "replace", _to_manifest),
    "snapshot": (Home, "write_snapshot", None),
    "removal": (shutil, "rmtree", None),
    "drop": (Journal, "_drop", None),
    "compaction": (Journal, "compact", None),
}
POINTS = [f"{when} {what}" for what in CALLS for when in ("before", "after")]


def die_at(point, hit):
    when, what = point.split()
    owner, name, meant = CALLS[what]
    call, calls = getattr(owner, name), 0

    def instead(*args, **kwargs):
        nonlocal calls
        calls += meant is None or meant(*args)
        is_now = calls == hit and (meant is None or meant(*args))
        if is_now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*args, **kwargs)
        if is_now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, instead)


def main(path, point, hit, n, seed):
    home, records = Home(path), stream(int(n), int(seed))
    if point != "none":
        die_at(point, int(hit))
    with Writer(home, snapshot_every=None) as writer:
        start = writer.replica.sequence
        for start in range(0, len(records), 3):
            answers = [writer.submit(record, f"key {start + i}") for i, record in enumerate(records[start : start + 3])]
            for answer in answers:
                print(answer.result().sequence, flush=True)
            if start % SNAPSHOT_EVERY == 0:
                write_snapshot(home, writer.replica.sequence)
                home.compact(writer.journal, undo_records=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
