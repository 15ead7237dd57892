"""Count public calls with hostile arguments, in batches, each in a separate process, so that a signal is detected.

The inputs are random bytes; their seeds continue from batch to batch, so that no input is counted twice, and a failing
seed can be run again. Calls under sanitizers are counted separately.
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
    """Return the key of the counts: "sanitized" or "normal"."""
    return "sanitized" if "libasan" in os.environ.get("LD_PRELOAD", "") else "normal"


def one_go(seed: int, inputs: int, seconds: float) -> None:
    """Run inputs in this process and print how often each method was called; raise the error of a failing input."""
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
    """Run a batch in a separate process; return its calls and the number of inputs, or None if it failed."""
    command = [sys.executable, *(["-S"] if sys.flags.no_site else []), "-m", "tests.fuzz", "go", "--seed", str(seed)]
    command += ["--seconds", str(int(seconds))]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the batch from seed {seed} on did not finish", file=sys.stderr)
        return None
    lines = [line for line in run.stdout.splitlines() if line.startswith(FINISHED)]
    if run.returncode or not lines or "runtime error" in run.stderr or "AddressSanitizer" in run.stderr:
        print(f"from seed {seed} on, code {run.returncode}:\n" + run.stderr[-6000:], file=sys.stderr)
        return None
    found = json.loads(lines[0].removeprefix(FINISHED))
    return Counter(found["calls"]), found["inputs"]


def run(wanted: int, seconds: int, path: Path | None) -> int:
    """Make calls until the file counts the given number or, without a file, for the given seconds.

    Return how many batches failed; the first failure ends the run.
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
        print(f"{found[0].total():>9,} calls, {rate:7,.0f}/s, {methods.total():>10,} in total", flush=True)
        if path is not None:
            keep(path, methods, seed)
    return 0


def keep(path: Path, methods: Counter[str], seed: int) -> None:
    """Write the counts so far, and keep the rest of the file."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept.setdefault("calls", {})[build()] = {"seed": seed, "methods": dict(sorted(methods.items()))}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    with contextlib.suppress(OSError):
        os.replace(new, path)
