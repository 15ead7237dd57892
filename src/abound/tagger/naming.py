"""Find labels by their names for people: a name that belongs to exactly one label stands for that label."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

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

    def find(self, name: str, is_wanted: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Return the labels with a name: the wanted ones that match best.

        An equal name is better than one that differs in case, and a preferred name is better than another one.
        """
        if self._found is None:
            self._found = {}
            self._add(self._labels())
        folded = _folded(name)
        known = self._found.get(folded, ())
        best: list[str] = []
        lowest = 4
        for label in filter(is_wanted, known if isinstance(known, tuple) else (known,)):
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
    if len(found) > 1 and knows(given):
        return given
    label = only_one(given, found, names_of)
    return given if label is None else label


def only_one(given: str, found: Sequence[Name], names_of: Callable[[Name], Sequence[str]]) -> Name | None:
    """Return the only label that a name belongs to, or None if there is none; ValueError if there are several."""
    if len(found) < 2:
        return found[0] if found else None
    choices = ", ".join(_described(label, names_of(label)) for label in found[:SHOWN_CHOICES])
    more = f" and {len(found) - SHOWN_CHOICES:,} more" if len(found) > SHOWN_CHOICES else ""
    raise ValueError(f"{given!r} is the name of {len(found):,} labels: {choices}{more}; give one of these")


class NameResolver:
    """Resolve the labels of texts, which may be given by their names.

    Parameters
    ----------
    names : callable
        Returns the names by label, the preferred one first.
    knows : callable
        Returns whether an id is known, besides those that have names.
    """

    def __init__(
        self, names: Callable[[], Mapping[str, Sequence[str]]], knows: Callable[[Any], bool] = lambda _: False
    ) -> None:
        self._names = names
        self._also_knows = knows
        self._n_indexed = 0
        self._index = self._new_index()

    def _new_index(self) -> NameIndex:
        return NameIndex(self._names, lambda label: self._names().get(label, ()))

    def update(self, labels: Iterable[str]) -> None:
        """Note the names of labels that were named since."""
        self._index.update(labels)
        self._n_indexed = len(self._names())

    def find(self, name: str) -> list[str]:
        """Return the labels with a name: those that match best."""
        names = self._names()
        if not names:
            return []
        if len(names) != self._n_indexed:  # the caller has changed the names
            self._index, self._n_indexed = self._new_index(), len(names)
        return self._index.find(name)

    def one(self, name: str) -> str | None:
        """Return the label with a name, or None; ValueError if there are several."""
        label = only_one(name, self.find(name), self._names_of)
        return None if label is None else str(label)

    def knows(self, label: Name) -> bool:
        """Return whether an id is known."""
        return self._also_knows(label) or str(label) in self._names()

    def resolve(self, given: Name, labels_are: LabelsAre = "either") -> Name:
        """Return the label that was given by its id or its name; see `resolve_label`."""
        return resolve_label(given, labels_are, knows=self.knows, find=self._labels, names_of=self._names_of)

    def _labels(self, name: str) -> list[Name]:
        return [self._label_of(label) for label in self.find(name)]

    def _label_of(self, text: str) -> Name:
        return label_of(text, self._also_knows)

    def _names_of(self, label: Name) -> Sequence[str]:
        return self._names().get(str(label), ())

    def rows(self, lists: Iterable[Iterable[Any]], labels_are: LabelsAre = "either") -> list[list[Any]]:
        """Return the labels of each text by their ids."""
        check_labels_are(labels_are)
        if labels_are == "ids" or not self._names():
            return [list(row) for row in lists]
        return [[self.resolve(given, labels_are) for given in row] for row in lists]


def label_of(text: str, knows: Callable[[Name], bool]) -> Name:
    """Return the known label that is written as a text: names are kept by texts, and a label may be a number."""
    for parse in (str, int, float):
        try:
            label: Name = parse(text)
        except (ValueError, OverflowError):
            continue
        if knows(label):
            return label
    return text


def _described(label: Name, names: Sequence[str]) -> str:
    return f"{label} ({', '.join(names[:SHOWN_NAMES])})" if names else str(label)
