"""Labels that are given by their names, on the command line and in files."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import note

if TYPE_CHECKING:
    from abound.tagger.naming import LabelsAre

SHOWN = 3  # labels that are noted, if a file has many
LabelsAreOption = Annotated[
    str,
    typer.Option(
        "--labels-are",
        metavar="either|ids|names",
        help="How labels are given. With either, a name that belongs to exactly one label stands for it, unless it is "
        "an id; with names, also then.",
    ),
]


def check_option(labels_are: str) -> "LabelsAre":
    """Return how labels are given; raise an error for anything else."""
    from abound.tagger.naming import check_labels_are

    try:
        return check_labels_are(labels_are)
    except ValueError:
        raise typer.BadParameter(f"--labels-are must be either, ids or names, got {labels_are!r}") from None


class FileLabels:
    """Resolve the labels of a file, and remember which were names.

    Parameters
    ----------
    resolve : callable
        Returns the label for what is given; ValueError if it is ambiguous.
    """

    def __init__(self, resolve: Callable[[str], Any]) -> None:
        self._resolve = resolve
        self._known: dict[str, Any] = {}

    def __call__(self, given: str) -> Any:
        """Return the label for what is given."""
        label = self._known.get(given)
        if label is None:
            label = self._known[given] = self._resolve(given)
        return label

    @property
    def resolved(self) -> dict[str, Any]:
        """The labels that were given by their names, by name."""
        return {given: label for given, label in self._known.items() if given != label}


def note_labels(resolved: Mapping[str, Any], new: Iterable[Any]) -> None:
    """Print which labels were given by their names, and which are new."""
    named = [f"{given!r} is the label {label}" for given, label in resolved.items()]
    made = [f"{label!r} is a new label" for label in new]
    for notes, what in ((named, "labels were given by their names"), (made, "labels are new")):
        for words in notes[:SHOWN]:
            note(f"note: {words}")
        if len(notes) > SHOWN:
            note(f"note: {len(notes):,} {what}; these are the first {SHOWN}")
