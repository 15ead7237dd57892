"""Kill executors of the tests' own cluster at chosen moments of a stage."""

import os
import random
import signal
import threading
import time
from pathlib import Path

from abound.spark import training
from abound.spark.passes import Learn, Merge
from abound.spark.writing import WriteArrays

STAGES = ("map", "shuffle", "merge", "write")
PAUSE = 1.0  # seconds that a task of the stage waits, so that a kill meets it


def descendants(root: int) -> dict[int, str]:
    """Return the processes that a process and its children have started, with their command lines."""
    parents, commands = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
    found, fresh = set(), {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return {pid: commands[pid] for pid in found}


def executors() -> list[int]:
    """Return the executor processes of the cluster that this process has started."""
    return sorted(pid for pid, command in descendants(os.getpid()).items() if "CoarseGrainedExecutorBackend" in command)


def pause(folder: str, stage: str) -> None:
    """Say that a task of a stage is here, and wait; tasks that come later do not."""
    try:
        os.close(os.open(Path(folder) / stage, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    time.sleep(PAUSE)


def slowed(folder: str, stages: tuple[str, ...]) -> dict[str, type]:
    """Return the tasks of a round with a pause in some stages."""

    class SlowLearn(Learn):
        def __call__(self, batches):
            if "map" in stages:
                pause(folder, "map")
            yield from super().__call__(batches)

    class SlowMerge(Merge):
        def __call__(self, batches):
            if "shuffle" in stages:  # blocks are fetched and sorted while it waits
                pause(folder, "shuffle")
            yield from super().__call__(self.watched(batches))

        def watched(self, batches):
            for batch in batches:
                yield batch
                if "merge" in stages:
                    pause(folder, "merge")

    class SlowWrite(WriteArrays):
        def __call__(self, number):
            if "write" in stages:
                pause(folder, "write")
            return super().__call__(number)

    return {"Learn": SlowLearn, "Merge": SlowMerge, "WriteArrays": SlowWrite}


class Killer(threading.Thread):
    """Wait until a task of each stage is there, and kill one executor at a random moment after that."""

    def __init__(self, folder: Path, stages: tuple[str, ...], seed: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.stages, self.random = folder, stages, random.Random(seed)
        self.killed: dict[str, int] = {}

    def run(self) -> None:
        for stage in self.stages:
            deadline = time.monotonic() + 900
            while not (self.folder / stage).exists():
                if time.monotonic() > deadline:
                    return
                time.sleep(0.02)
            time.sleep(self.random.uniform(0.0, 1.5 * PAUSE))
            found = executors()
            if found:
                self.killed[stage] = self.random.choice(found)
                os.kill(self.killed[stage], signal.SIGKILL)


def fit_with_kills(frame, folder: Path, stages: tuple[str, ...], seed: int, monkeypatch, **params):
    """Train while one executor is killed in each stage; return the report and the executors that were killed."""
    folder.mkdir()
    for name, task in slowed(str(folder), stages).items():
        monkeypatch.setattr(training, name, task)
    killer = Killer(folder, stages, seed)
    killer.start()
    report = training.fit(frame, folder / "model", **params)
    killer.join(900)
    return report, killer.killed
