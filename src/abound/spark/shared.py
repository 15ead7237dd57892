"""Files on the shared path: sorted runs of rows, model directories, parts of the next model.

A task writes to a temporary name and renames it at the end, and it always writes the same bytes. So a task that is
killed or runs twice does no harm.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from abound.rankers import Ranker, ranker_class
from abound.store import Model, read_model
from abound.store.directory import MANIFEST, Source, read_manifest, write_array, write_manifest
from abound.text import TextEncoder

_verified: set[str] = set()  # states whose checksums this process has verified
_encoders: dict[str, TextEncoder] = {}  # at most one vocabulary per process, by state and parameters


def publish(path: Path, content: Mapping[str, Any], arrays: Mapping[str, Source]) -> dict[str, Any]:
    """Write a model directory, replacing what a killed task has left there; return its path and state hash."""
    path.mkdir(parents=True, exist_ok=True)
    files = {key: write_array(path, key, source) for key, source in arrays.items()}
    return {"path": str(path), "state_hash": write_manifest(path, content, files)}


def is_model(path: Path) -> bool:
    """Return whether a model directory is complete."""
    return (path / MANIFEST).exists()


def open_model(path: str | Path) -> Model:
    """Map a model directory. Its checksums are verified once per process and state."""
    state = str(read_manifest(Path(path))["state_hash"])
    model = read_model(path, verify=state not in _verified)
    _verified.add(state)
    return model


def open_ranker(path: str | Path, model: Model | None = None) -> Ranker:
    """Return a new ranker on a private map of a model directory."""
    model = model or open_model(path)
    return ranker_class(model.content["kind"]).from_model(model)


def open_encoder(path: str | Path, params: Mapping[str, Any]) -> TextEncoder:
    """Return the frozen vocabulary of a directory. A process builds it once."""
    key = repr((read_manifest(Path(path))["state_hash"], sorted(params.items())))
    if key not in _encoders:
        _encoders.clear()
        encoder = TextEncoder(**params)
        encoder.restore(open_model(path).arrays)
        _encoders[key] = encoder
    return _encoders[key]


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to `path` at the end unless `path` exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writing = Path(tempfile.mkdtemp(prefix=".writing-", dir=path.parent))
    try:
        yield writing
        try:
            os.rename(writing, path)
        except OSError:
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(writing, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file, which is renamed to `path` at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    os.close(descriptor)
    try:
        yield Path(name)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically."""
    with new_file(path) as writing:
        writing.write_text(json.dumps(content, indent=1) + "\n")
