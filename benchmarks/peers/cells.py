"""Run one cell of the table, a system with a setting on a data set, in a separate process, and store the result.

The store is `.cache/cells`: for each cell its figures, in JSON, and its ranking. A stored cell is not run again, unless
its rows, its setting, its requirements or, for abound, the learners have changed.
"""

import hashlib
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
import scipy.sparse as sp

from benchmarks import sets
from benchmarks.machine import machine_line
from benchmarks.peers.environments import HERE, interpreter, requirements
from benchmarks.peers.registry import GIGABYTES, PEERS, SECONDS, Peer
from benchmarks.peers.systems import processes

LEARNERS = HERE.parents[1] / "src" / "abound"
LEAST = ("train_seconds", "train_cpu_seconds", "rank_cpu_microseconds_a_row", "peak_megabytes")
MOST = ("rows_a_second_batch", "rows_a_second_single")


def store() -> Path:
    return sets.CACHE.parent / "cells"


def place(set_name: str, peer: str) -> Path:
    """Return the file of a cell; its ranking is in the same folder."""
    return store() / set_name / f"{peer}.json"


def digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]


def rows_digest(data: sets.LabelSet) -> str:
    """Return a digest of all rows and labels of a data set."""
    matrices = [sp.csr_matrix(matrix) for matrix in (data.X_train, data.Y_train, data.X_test, data.Y_test)]
    return digest(*(a.tobytes() for m in matrices for a in (m.indptr, m.indices, m.data)))


def system_digest(peer: Peer) -> str:
    """Return a digest of everything that determines how a system learns."""
    if peer.environment is not None:
        return digest(peer.script.encode(), peer.setting.encode(), requirements(peer.environment).encode())
    files = [p for part in ("rankers", "kernels") for p in (LEARNERS / part).glob("*.p*") if p.suffix != ".pyi"]
    return digest(peer.script.encode(), peer.setting.encode(), *(p.read_bytes() for p in sorted(files)))


def read(set_name: str, peer: str) -> dict[str, Any] | None:
    """Return a cell of the store, or None."""
    path = place(set_name, peer)
    return json.loads(path.read_text()) if path.exists() else None


def ranking(set_name: str, peer: str) -> tuple[np.ndarray, np.ndarray]:
    """Return label numbers and scores that a system wrote."""
    with np.load(place(set_name, peer).with_suffix(".npz")) as ranked:
        return ranked["indices"], ranked["scores"]


def run(data: sets.LabelSet, peer: str, *, again: bool = False) -> tuple[dict[str, Any], bool]:
    """Return a cell and whether it had to be run."""
    known = read(data.name, peer)
    stamp = {"rows": rows_digest(data), "system": system_digest(PEERS[peer])}
    if known is not None and known["stamp"] != stamp:
        known = None
    if known is not None and not again:
        return known, False
    why = PEERS[peer].refuses(data)
    figures = {"failed": why} if why else once(PEERS[peer], data.name, place(data.name, peer))
    cell = {"set": data.name, "peer": peer, "stamp": stamp, "machine": machine_line(), **joined(known, figures)}
    place(data.name, peer).parent.mkdir(parents=True, exist_ok=True)
    place(data.name, peer).write_text(json.dumps(cell, indent=1) + "\n")
    return cell, True


def joined(known: dict[str, Any] | None, figures: dict[str, Any]) -> dict[str, Any]:
    """Combine a run with earlier ones: lowest time and memory, highest rate, and whether the rankings are equal."""
    if known is None or "failed" in known or "failed" in figures:
        return figures if "failed" in figures else {**figures, "runs": 1}
    best = {key: min(known[key], figures[key]) for key in LEAST} | {key: max(known[key], figures[key]) for key in MOST}
    same = known["ranking"] == figures["ranking"] and known.get("same_ranking", True)
    return {**figures, **best, "runs": known["runs"] + 1, "same_ranking": same}


def once(peer: Peer, set_name: str, target: Path) -> dict[str, Any]:
    """Run a system and return its figures, or the reason for the failure; write its ranking next to the target."""
    output = Path(tempfile.mkdtemp(prefix="abound-cell-"))
    script = HERE / "systems" / f"{peer.script}.py"
    try:
        command = [interpreter(peer.environment), script, sets.CACHE / set_name, output, peer.setting]
        why = limited(command, output / "errors.txt")
        if why:
            return {"failed": why}
        figures = json.loads((output / "figures.json").read_text())
        with np.load(output / "ranking.npz") as ranked:
            figures["ranking"] = digest(np.ascontiguousarray(ranked["indices"], np.int32).tobytes())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(output / "ranking.npz", target.with_suffix(".npz"))
        return figures
    finally:
        shutil.rmtree(output)


def limited(command: list[Any], errors: Path, seconds: float = SECONDS, gigabytes: float = GIGABYTES) -> str | None:
    """Run a command within the limits; return why it did not finish, or None.

    On a shared machine a run may spend as much time waiting as working. The limit is therefore reached when the run has
    used all cores for that long, or when twice the time has passed.
    """
    with open(errors, "w") as file:
        started = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    end, cores, why = time.monotonic() + 2 * seconds, os.cpu_count() or 1, None
    while started.poll() is None and why is None:
        time.sleep(0.5)
        if time.monotonic() > end or processes.cpu_seconds_of(started.pid) > cores * seconds:
            why = f"not finished after {seconds:g} s"
        elif processes.resident_bytes(started.pid) > gigabytes * 2**30:
            why = f"not finished in {gigabytes:g} GB"
    if why:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        return why
    if started.returncode:
        lines = [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]
        return f"failed: {(lines or [f'exit code {started.returncode}'])[-1]}"[:300]
    return None
