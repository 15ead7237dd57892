"""Count public calls with hostile arguments: go after go, each in a process of its own, so that a signal is noticed.

The inputs are random bytes; their seeds go on from go to go, so that no input is counted twice, and a seed that fails
can be run again. Calls under sanitizers are counted apart.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

BYTES = 600  # of an input
INPUTS_OF_A_GO = 2000
LONGEST_SECONDS = 1800  # of a go
FINISHED = "calls of a whole go: "


def build() -> str:
    """Return what the counts are filed under: "sanitized" or "normal"."""
    return "sanitized" if "libasan" in os.environ.get("LD_PRELOAD", "") else "normal"


def one_go(seed: int, inputs: int, seconds: float) -> None:
    """Run so many inputs in this process and print how often each method was called; what fails is raised."""
    import faulthandler

    faulthandler.enable()
    from tests.fuzz.api import api, calls

    end, done = time.monotonic() + seconds, 0
    for number in range(seed, seed + inputs):
        data = random.Random(number).randbytes(BYTES)
        try:
            api(data)
        except BaseException:
            Path(f"crash-api-{number}").write_bytes(data)
            print(f"the input of seed {number} failed; it is in crash-api-{number}", file=sys.stderr)
            raise
        done += 1
        if time.monotonic() > end:
            break
    print(FINISHED + json.dumps({"calls": calls, "inputs": done}))


def go(seed: int, seconds: float) -> tuple[Counter[str], int] | None:
    """Run a go in a process of its own; return its calls and how many inputs it took, or None if it failed."""
    command = [sys.executable, *(["-S"] if sys.flags.no_site else []), "-m", "tests.fuzz", "go", "--seed", str(seed)]
    command += ["--seconds", str(int(seconds))]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the go from seed {seed} on did not end", file=sys.stderr)
        return None
    lines = [line for line in run.stdout.splitlines() if line.startswith(FINISHED)]
    if run.returncode or not lines or "runtime error" in run.stderr or "AddressSanitizer" in run.stderr:
        print(f"from seed {seed} on, code {run.returncode}:\n" + run.stderr[-6000:], file=sys.stderr)
        return None
    found = json.loads(lines[0].removeprefix(FINISHED))
    return Counter(found["calls"]), found["inputs"]


def run(wanted: int, seconds: int, path: Path | None) -> int:
    """Make calls until the file counts as many as are wanted, or, without a file, for so many seconds.

    Return how many goes failed; the first one ends it.
    """
    kept = json.loads(path.read_text()) if path is not None and path.exists() else {}
    mine = kept.setdefault("calls", {}).setdefault(build(), {"seed": 0, "methods": {}})
    methods, seed, end = Counter(mine["methods"]), mine["seed"], time.monotonic() + (seconds or float("inf"))
    while methods.total() < wanted and time.monotonic() < end:
        start = time.perf_counter()
        found = go(seed, min(LONGEST_SECONDS / 2, max(1.0, end - time.monotonic())))
        if found is None:
            return 1
        methods, seed = methods + found[0], seed + found[1]
        rate = found[0].total() / (time.perf_counter() - start)
        print(f"{found[0].total():>9,} calls, {rate:7,.0f} a second, {methods.total():>10,} in all", flush=True)
        if path is not None:
            keep(path, methods, seed)
    return 0


def keep(path: Path, methods: Counter[str], seed: int) -> None:
    """Write what was counted so far beside what else the file has."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept.setdefault("calls", {})[build()] = {"seed": seed, "methods": dict(sorted(methods.items()))}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    with contextlib.suppress(OSError):
        os.replace(new, path)
