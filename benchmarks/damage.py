"""Damage files in tens of thousands of ways, and count which formats detect it: ours and other common ones.

python -m benchmarks.damage                        10,000 flipped bits, 10,000 cuts, 1,000 torn blocks, for every format
python -m benchmarks.damage --share 0.01           a hundredth of the cases
python -m benchmarks.damage --only model journal   some of the formats
python -m benchmarks.damage --share 0.1 --go-on    a tenth of the cases, after those in the result file

Damage that a format does not detect is harmless if the loaded data are unchanged, and silently wrong otherwise. Each
format is tested in a separate process, so that a crash is counted and does not end the benchmark.
"""

import argparse
import json
import multiprocessing as mp
import random
import resource
import shutil
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.hardening.subjects import SUBJECTS, Subject
from benchmarks.machine import machine_line

RESULT = Path(__file__).resolve().parent / "results" / "damage.json"
BLOCK = 4096
MOST_MEMORY = 4 << 30  # of address space: some formats would allocate more
LONGEST_SECONDS = 10
VERDICTS = ("noticed", "harmless", "silently wrong", "other error", "crash or hang")


def flip(raw: bytearray, chance: random.Random) -> bytearray:
    """Flip one bit."""
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return raw


def cut(raw: bytearray, chance: random.Random) -> bytearray:
    """Cut off the end."""
    return raw[: chance.randrange(len(raw))]


def tear(raw: bytearray, chance: random.Random) -> bytearray:
    """Zero one block, or replace it by another block of the file."""
    at = BLOCK * chance.randrange((len(raw) + BLOCK - 1) // BLOCK)
    size = min(BLOCK, len(raw) - at)
    other = BLOCK * chance.randrange((len(raw) + BLOCK - 1) // BLOCK)
    block = bytes(size) if chance.random() < 0.5 else bytes(raw[other : other + size]).ljust(size, b"\0")
    raw[at : at + size] = block
    return raw


DAMAGES: dict[str, tuple[int, Callable[[bytearray, random.Random], bytearray]]] = {
    "flipped bits": (10_000, flip),
    "cuts": (10_000, cut),
    "torn blocks": (1_000, tear),
}


def verdict(subject: Subject, folder: Path, expected: str) -> str:
    """Return how a subject handles a damaged folder."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = subject.content(folder)
    except subject.errors:
        return "noticed"
    except (Exception, RecursionError):
        return "other error"
    return "harmless" if found == expected else "silently wrong"


def one_case(subject: Subject, whole: Path, folder: Path, expected: str, damage: str, seed: int) -> str:
    """Damage one file, chosen with probability proportional to its length, and return the verdict."""
    chance = random.Random(f"{damage} {seed}")
    files = sorted(path for path in whole.iterdir() if path.stat().st_size)
    (path,) = chance.choices(files, [file.stat().st_size for file in files])
    before = path.read_bytes()
    after = DAMAGES[damage][1](bytearray(before), chance)
    if subject.changes_files:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
    (folder / path.name).write_bytes(after)
    found = "harmless" if after == before else verdict(subject, folder, expected)
    (folder / path.name).write_bytes(before)
    return found


def work(pipe: Connection, name: str, whole: Path, folder: Path, damage: str, seeds: range) -> None:
    """Test cases one after another, in a process that a case may crash."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    subject = SUBJECTS[name]()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    expected = subject.content(folder)
    for seed in seeds:
        signal.alarm(LONGEST_SECONDS)
        pipe.send(one_case(subject, whole, folder, expected, damage, seed))
        signal.alarm(0)


def run(name: str, whole: Path, folder: Path, damage: str, seeds: range) -> dict[str, Any]:
    """Return the number of cases with each verdict."""
    found: Counter[str] = Counter()
    start, seed = time.perf_counter(), seeds.start
    while seed < seeds.stop:
        ours, theirs = mp.Pipe()
        process = mp.get_context("fork").Process(
            target=work, args=(theirs, name, whole, folder, damage, range(seed, seeds.stop))
        )
        process.start()
        theirs.close()
        try:
            while seed < seeds.stop:
                found[ours.recv()] += 1
                seed += 1
        except EOFError:
            found["crash or hang"] += 1
            seed += 1
        process.join()
    seconds = time.perf_counter() - start
    return {**{which: found[which] for which in VERDICTS}, "n": len(seeds), "seconds": round(seconds, 1)}


def measure(names: list[str], share: float, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the figures of some formats, added to the known ones."""
    known = known or {}
    shared = Path("/dev/shm")  # noqa: S108  where writing costs nothing
    figures: dict[str, Any] = {}
    for name in names:
        with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as place:
            whole, folder = Path(place) / "whole", Path(place) / "damaged"
            subject = SUBJECTS[name]()
            subject.make(whole)
            size = sum(path.stat().st_size for path in whole.iterdir())
            figures[name] = {"name": subject.name, "version": subject.version, "bytes": size}
            for damage, (n, _) in DAMAGES.items():
                before = known.get(name, {}).get(damage, {})
                first = before.get("n", 0)
                found = run(name, whole, folder, damage, range(first, min(n, first + max(1, round(share * n)))))
                figures[name][damage] = {key: round(count + before.get(key, 0), 1) for key, count in found.items()}
                print(f"{subject.name:26} {damage:13} {figures[name][damage]}", flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of cases")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--json", type=Path, help=f"result file (default at full share: {RESULT.name})")
    parser.add_argument("--go-on", action="store_true", help="add to the figures of the result file")
    args = parser.parse_args()
    target = args.json or (RESULT if args.share == 1.0 or args.go_on else None)
    known = json.loads(target.read_text())["formats"] if target is not None and target.exists() else {}
    figures = measure(args.only, args.share, known if args.go_on else None)
    if target is not None:
        result = {"machine": machine_line(), "formats": {**known, **figures}}
        target.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
