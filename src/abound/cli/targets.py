"""The model directory that a command writes: free, or held by nobody else."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import typer

from abound.cli.common import note


def lock_target(ctx: typer.Context, model: str, force: bool) -> None:
    """Hold a directory until the command ends, for a model that is made anew; raise if that would lose anything."""
    check_target(model, force)
    ctx.with_resource(_target(model, force))


def lock_model(ctx: typer.Context, model: str) -> None:
    """Hold the directory of a model that is read, changed and written back, until the command ends.

    Whoever comes second waits, so that it reads what the first has written.
    """
    ctx.with_resource(_model(model))


def check_target(model: str, force: bool) -> None:
    """Raise unless a model can be written to the path without losing anything that the user wants to keep."""
    from abound.store.directory import MANIFEST, is_free

    path = Path(model)
    if path.exists() and not path.is_dir():
        raise ValueError(f"--model must be a directory, and {model} is a file")
    if path.is_dir() and not is_free(path):
        if not (path / MANIFEST).exists():
            raise ValueError(f"{model} is a directory with other things in it; name a new one")
        if not force:
            raise ValueError(f"{model} already holds a model; --force replaces it")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not os.access(path if path.exists() else parent, os.W_OK):
        raise ValueError(f"{model} cannot be written: no permission for {parent}")


@contextlib.contextmanager
def _target(model: str, force: bool) -> Iterator[None]:
    from abound.store.directory import is_free
    from abound.store.locks import lock_directory

    def busy() -> None:
        raise ValueError(f"another process is writing a model to {model}; name another directory, or wait for it")

    path = Path(model)
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    with lock_directory(path, busy):
        check_target(model, force)  # another process may have finished since
        try:
            yield
        finally:
            if is_free(path):  # nothing was written
                with contextlib.suppress(OSError):
                    for folder in made:
                        folder.rmdir()


@contextlib.contextmanager
def _model(model: str) -> Iterator[None]:
    from abound.store.locks import lock_directory

    path = Path(model)
    if not path.is_dir():  # loading it says what is wrong
        yield
        return
    with lock_directory(path, lambda: note(f"another process is writing to {model}; waiting for it")) as held:
        if not held:
            note(f"{model} cannot be locked here; see to it that nothing else writes to it")
        yield
