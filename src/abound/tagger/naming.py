"""Find labels by their names for people: a name that belongs to exactly one label stands for that label."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias, get_args

from abound.store.names import Name

LabelsAre: TypeAlias = Literal["either", "ids", "names"]
SHOWN_CHOICES = 5  # of an ambiguous name
SHOWN_NAMES = 3  # of each choice


def check_labels_are(given: str) -> LabelsAre:
    """Return how labels are given; raise ValueError for anything else."""
    if given not in get_args(LabelsAre):
        raise ValueError(f"labels_are must be one of {', '.join(get_args(LabelsAre))}, got {given!r}")
    return given  # type: ignore[return-value]  # it is one of them


class NameIndex:
    """An index of names, which is built on first use.

    Parameters
    ----------
    labels : callable
        Returns all labels that have names.
    names_of : callable
        Returns the current names of a label, the preferred one first.
    """

    def __init__(self, labels: Callable[[], Iterable[str]], names_of: Callable[[str], Sequence[str]]) -> None:
        self._labels = labels
        self._names_of = names_of
        self._found: dict[str, str | tuple[str, ...]] | None = None  # by folded name; a former name may be left in it

    def update(self, labels: Iterable[str]) -> None:
        """Add the names of labels that were named since."""
        if self._found is not None:
            self._add(labels)

    def _add(self, labels: Iterable[str]) -> None:
        found = self._found
        assert found is not None
        for label in labels:
            for name in self._names_of(label):
                folded = _folded(name)
                known = found.setdefault(folded, label)
                labels_of = known if isinstance(known, tuple) else (known,)
                if label not in labels_of:
                    found[folded] = (*labels_of, label)

    def find(self, name: str) -> list[str]:
        """Return the labels with a name: those that match best.

        An equal name is better than one that differs in case, and a preferred name is better than another one.
        """
        if self._found is None:
            self._found = {}
            self._add(self._labels())
        folded = _folded(name)
        known = self._found.get(folded, ())
        best: list[str] = []
        lowest = 4
        for label in known if isinstance(known, tuple) else (known,):
            ranks = (
                2 * (given != name) + (place > 0)
                for place, given in enumerate(self._names_of(label))
                if _folded(given) == folded
            )
            rank = min(ranks, default=4)
            if rank < lowest:
                best, lowest = [label], rank
            elif rank == lowest < 4:
                best.append(label)
        return best


def _folded(name: str) -> str:
    return name.strip().casefold()


def resolve_label(
    given: Name,
    labels_are: LabelsAre,
    *,
    knows: Callable[[Name], bool],
    find: Callable[[str], Sequence[Name]],
    names_of: Callable[[Name], Sequence[str]],
) -> Name:
    """Return the label that was given by its id or its name; an unknown one is returned unchanged.

    Parameters
    ----------
    given : name
    labels_are : {"either", "ids", "names"}
        With "either", a known id is never taken as a name. With "names", a name wins.
    knows : callable
        Returns whether an id is known.
    find : callable
        Returns the labels with a name.
    names_of : callable
        Returns the names of a label, to describe the choices.

    Raises
    ------
    ValueError
        If it is the name of several labels.
    """
    if labels_are == "ids" or not isinstance(given, str) or (labels_are == "either" and knows(given)):
        return given
    found = find(given)
    if len(found) == 1:
        return found[0]
    if not found or knows(given):
        return given
    choices = ", ".join(_described(label, names_of(label)) for label in found[:SHOWN_CHOICES])
    more = f" and {len(found) - SHOWN_CHOICES:,} more" if len(found) > SHOWN_CHOICES else ""
    raise ValueError(f"{given!r} is the name of {len(found):,} labels: {choices}{more}; give one of these")


def _described(label: Name, names: Sequence[str]) -> str:
    return f"{label} ({', '.join(names[:SHOWN_NAMES])})" if names else str(label)
