"""Check and lock the model directory that a command writes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import typer

from abound.cli.common import note
from abound.cli.homes import is_home, note_served


def lock_target(ctx: typer.Context, model: str, force: bool) -> None:
    """Lock the directory of a new model until the command ends. Raise an error if data would be lost."""
    check_target(model, force)
    ctx.with_resource(_target(model, force))
    note_served(model)


def lock_model(ctx: typer.Context, model: str) -> None:
    """Lock the directory of a model that is read, changed and written back, until the command ends.

    A second process waits, so that it reads what the first one wrote.
    """
    ctx.with_resource(_model(model))


def check_target(model: str, force: bool) -> None:
    """Raise an error if a model cannot be written to the path or would replace other data."""
    from abound.store.directory import MANIFEST, is_free

    path = Path(model)
    if path.exists() and not path.is_dir():
        raise ValueError(f"--model must be a directory, but {model} is a file")
    if path.is_dir() and not is_free(path):
        if is_home(path):
            raise ValueError(
                f"{model} is the home of a served model, which --model cannot replace; name a new directory"
            )
        if not (path / MANIFEST).exists():
            raise ValueError(f"{model} is a directory with other files; name a new directory")
        if not force:
            raise ValueError(f"{model} already contains a model; replace it with --force")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not os.access(path if path.exists() else parent, os.W_OK):
        raise ValueError(f"{model} cannot be written: no permission for {parent}")


@contextlib.contextmanager
def _target(model: str, force: bool) -> Iterator[None]:
    from abound.store.directory import is_free
    from abound.store.locks import lock_directory

    def busy() -> None:
        raise ValueError(f"another process is writing a model to {model}; name another directory or wait for it")

    path = Path(model)
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    with lock_directory(path, busy):
        check_target(model, force)  # another process may have written a model in the meantime
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
    if not path.is_dir():  # loading reports the error
        yield
        return
    with lock_directory(path, lambda: note(f"another process is writing to {model}; waiting for it")) as held:
        if not held:
            note(f"{model} cannot be locked on this file system; make sure that no other process writes to it")
        yield
