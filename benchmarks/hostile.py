"""Attack model files and count refusals: our format with every attack of the tests, others as their format allows.

python -m benchmarks.hostile          writes benchmarks/results/hostile.json

Every attack runs on a new copy in a separate process, whose time and memory are measured.
"""

import io
import json
import multiprocessing as mp
import os
import pickle
import resource
import shutil
import signal
import struct
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine_line

RESULT = Path(__file__).resolve().parent / "results" / "hostile.json"
MOST_MEMORY = 8 << 30
Load = Callable[[Path], Any]


class Shell:
    """An object whose pickle creates a directory when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path / "code-ran"),)


# -- others ------------------------------------------------------------------------------------------


def tensors(header: Any, n_bytes: int = 64, length: int | None = None) -> bytes:
    """Return a safetensors file with the given header."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + bytes(n_bytes)


def one(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64], **changes}}


def safetensors_attacks() -> dict[str, bytes]:
    entry = b'"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}'
    twice = b"{" + entry + b"," + entry.replace(b"F32", b"I32") + b"}"
    bad = tensors(one(), 0) + np.full(16, np.nan, np.float32).tobytes()
    return {
        "a header beyond the file": tensors(one(), length=1 << 60),
        "an empty header": tensors(b""),
        "overlapping arrays": tensors({**one(), "b": one()["a"]}),
        "offsets beyond the file": tensors(one(data_offsets=[0, 1 << 40])),
        "a shape beyond the file": tensors(one(shape=[1 << 40])),
        "a negative shape": tensors(one(shape=[-16])),
        "an unknown type": tensors(one(dtype="O")),
        "a repeated key": tensors(twice),
        "deep JSON": tensors(b"[" * 100_000),
        "bytes after the end": tensors(one(), 128),
        "not a number": bad,
    }


def npz_attacks() -> dict[str, bytes]:
    bomb, objects, nan, lying = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as out,
    ):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 28,)})
        out.write(head.getvalue())
        for _ in range(128):
            out.write(bytes(1 << 24))
    np.savez(objects, a=np.array([Shell(Path())], object))
    np.savez(nan, a=np.full(16, np.nan))
    with zipfile.ZipFile(lying, "w") as archive:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
        archive.writestr("a.npy", head.getvalue())
    return {
        "a bomb of 2 GB": bomb.getvalue(),
        "objects": objects.getvalue(),
        "a shape beyond the file": lying.getvalue(),
        "not a number": nan.getvalue(),
    }


def load_safetensors(folder: Path) -> Any:
    from safetensors.numpy import load_file

    return load_file(folder / "file")


def load_npz(folder: Path) -> Any:
    with np.load(folder / "file", allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def load_joblib(folder: Path) -> Any:
    import joblib

    return joblib.load(folder / "file")


# -- measuring ---------------------------------------------------------------------------------------


def work(pipe: Any, load: Load, folder: Path) -> None:
    """Load a file, and return the outcome, the time and the memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.alarm(60)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load(folder)
        outcome = "accepted"
    except Exception as error:
        outcome = "refused" if not isinstance(error, MemoryError) else "out of memory"
    after = resource.getrusage(resource.RUSAGE_SELF)
    pipe.send((outcome, time.process_time() - start, (after.ru_maxrss - before.ru_maxrss) / 1024))


def measured(load: Load, folder: Path) -> dict[str, Any]:
    ours, theirs = mp.Pipe()
    process = mp.get_context("fork").Process(target=work, args=(theirs, load, folder))
    process.start()
    theirs.close()
    try:
        outcome, seconds, megabytes = ours.recv()
    except EOFError:
        outcome, seconds, megabytes = "crash or hang", 60.0, 0.0
    process.join()
    if (folder / "code-ran").exists() or (folder.parent / "code-ran").exists():
        outcome = "ran the code"
    size = sum(512 * path.lstat().st_blocks for path in [folder, *folder.iterdir()]) / 2**20
    return {"outcome": outcome, "seconds": round(seconds, 3), "megabytes_above": round(max(0.0, megabytes - size), 1)}


def measure_ours(place: Path, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return the outcome of each attack; outcomes are stored as they arrive, because the whole run may take long."""
    from tests.store.hostile.attacks import ATTACKS
    from tests.store.hostile.zoo import load, saved

    os.fsync = lambda _: None  # type: ignore[assignment]  # what is forged need not outlive a loss of power
    found = {}
    for number, (name, (kind, attack)) in enumerate(ATTACKS.items()):
        folder = Path(shutil.copytree(saved(kind), place / str(number) / kind))
        attack(folder)
        found[name] = measured(load, folder)
        shutil.rmtree(folder.parent)
        if number % 10 == 0:
            keep(found)
    return found


def measure_others(place: Path) -> dict[str, dict[str, Any]]:
    shell = place / "shell"
    shell.mkdir()
    formats: dict[str, tuple[Load, dict[str, bytes]]] = {
        "safetensors": (load_safetensors, safetensors_attacks()),
        "numpy .npz": (load_npz, npz_attacks()),
        "joblib": (load_joblib, {"code": pickle.dumps(Shell(shell)), "not a number": pickle.dumps(np.full(9, np.nan))}),
    }
    found: dict[str, dict[str, Any]] = {}
    for name, (load, attacks) in formats.items():
        found[name] = {}
        for attack, raw in attacks.items():
            folder = shell
            (folder / "file").write_bytes(raw)
            found[name][attack] = measured(load, folder)
            if (folder / "code-ran").exists():
                (folder / "code-ran").rmdir()
    return found


def main() -> None:
    formats: dict[str, Any] = {}

    def keep(ours: dict[str, Any]) -> None:
        RESULT.write_text(
            json.dumps({"machine": machine_line(), "formats": {**formats, "abound": ours}}, indent=1) + "\n"
        )

    with tempfile.TemporaryDirectory() as place:
        formats.update(measure_others(Path(place)))
        ours = measure_ours(Path(place), keep)
    keep(ours)
    for name, attacks in {**formats, "abound": ours}.items():
        for attack, found in attacks.items():
            if name != "abound" or found["outcome"] != "refused":
                print(f"{name:12} {attack:32} {found}")


if __name__ == "__main__":
    main()
