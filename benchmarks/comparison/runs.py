"""Run one system once, in a process of its own, within limits of time and memory."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison.registry import RUN_GIGABYTES, Options, System
from benchmarks.comparison.systems import processes
from benchmarks.peers.environments import interpreter

SYSTEMS = Path(__file__).parent / "systems"
CORES = os.cpu_count() or 1
POLL_SECONDS, IDLE_SECONDS = 0.1, 600.0
STALLED = "stopped, because it did nothing"


def once(
    system: System, options: Options, rows: Path, core_seconds: float, *, accuracy: bool = False
) -> dict[str, Any]:
    """Return the figures of a run and its ranking, or {"failed": why}.

    Parameters
    ----------
    rows : Path
        The folder with the matrices; the process is given no other rows.
    core_seconds : float
        The run is stopped when it has used as many.
    accuracy : bool
        Whether to train and rank once, without measuring ranking times: to try a setting.
    """
    output = Path(tempfile.mkdtemp(prefix="abound-run-"))
    script = SYSTEMS / f"{system.script}.py"
    command = [interpreter(system.environment), script, rows, output, json.dumps(dict(options))]
    try:
        why = limited([*command, "--accuracy"] if accuracy else command, output / "errors.txt", core_seconds)
        if why:
            return {"failed": why}
        figures: dict[str, Any] = json.loads((output / "figures.json").read_text())
        return {**figures, "ranking": np.load(output / "ranking.npy")}
    finally:
        shutil.rmtree(output)


def limited(command: list[Any], errors: Path, core_seconds: float, gigabytes: float = RUN_GIGABYTES) -> str | None:
    """Run a command; return why it was stopped or failed, or None.

    On a shared machine a run may spend more time waiting than working. So the limit counts processor time, and the
    clock only ends a run that has not worked for `IDLE_SECONDS`. A pause of all processes does not count as such.
    """
    with open(errors, "w") as file:
        started = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    why, used, idle, last = None, 0.0, 0.0, time.monotonic()
    try:
        while started.poll() is None and why is None:
            time.sleep(POLL_SECONDS)
            now, before = time.monotonic(), used
            used = max(used, processes.cpu_seconds_of(started.pid))
            idle = 0.0 if used > before else idle + min(now - last, 10 * POLL_SECONDS)
            last = now
            if used > core_seconds:
                why = f"stopped after {core_seconds:,.0f} core-seconds"
            elif idle > IDLE_SECONDS:
                why = f"{STALLED} for {IDLE_SECONDS:g} s"
            elif processes.resident_bytes(started.pid) > gigabytes * 2**30:
                why = f"stopped at {gigabytes:g} GB"
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
    if why is None and started.returncode:
        lines = [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]
        why = f"failed: {(lines or [f'exit code {started.returncode}'])[-1]}"[:200]
    return why
