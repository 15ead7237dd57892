"""The homes of served models: what is in them, and which model they were created from."""

from pathlib import Path
from typing import TYPE_CHECKING

from abound.cli.common import note

if TYPE_CHECKING:
    from abound.server import Home

JOURNAL = "journal.sqlite"


def is_home(path: str | Path) -> bool:
    """Return whether a directory is the home of a served model."""
    return (Path(path) / JOURNAL).is_file()


def count_corrections(home: "Home") -> int:
    """Return how many corrections the journal of a home has."""
    from abound.store.journal import Journal
    from abound.store.journal.records import Learn

    with Journal(home.journal_path) as journal:
        base = journal.base
        return base + sum(isinstance(stored.record, Learn) for stored in journal.read(base))


def _corrections(home: "Home") -> str:
    number = count_corrections(home)
    return f"{number:,} correction{'' if number == 1 else 's'}"


def note_served(model: str) -> None:
    """Print that the home beside a model, if there is one, keeps serving the model that was there before."""
    beside = Path(model).with_name(Path(model).name + ".served")
    if is_home(beside):
        from abound.server import Home

        note(f"{beside} keeps serving the old model with {_corrections(Home(beside))}")


def note_other_origin(model: str, home: "Home") -> None:
    """Print a warning if a home was created from another model than the one that is now in the model's directory."""
    if Path(model).resolve() == home.path.resolve():
        return
    from abound.errors import ModelError
    from abound.store.directory import read_manifest

    origin = home.origin()
    try:
        current = str(read_manifest(Path(model))["state_hash"])
    except ModelError:  # the model is gone or damaged, and is not needed
        return
    if origin is not None and origin.state_hash != current:
        note(
            f"{home.path} was created from another model than {model} has now; it keeps serving its own model with "
            f"{_corrections(home)}"
        )
