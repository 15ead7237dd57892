"""Connect the labels of a ranker with the concepts of a hierarchy, and select labels by them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from abound.hierarchy.hierarchy import Hierarchy
from abound.store.names import Name

EXACTLY = "="  # before a label that is selected without the labels below it
SELECTIONS = 32  # selections that are kept in memory, because a server gets the same ones again
Mask = NDArray[np.bool_]
Find = Callable[[str], str | None]  # returns the label with a name


class Labels(Protocol):
    """The labels of a ranker, which may grow."""

    names: list[Name]

    def __contains__(self, name: Any) -> bool: ...

    def id_of(self, name: Any) -> int:
        """Return a label's number."""


class LabelLinks:
    """The concepts of a ranker's labels.

    Parameters
    ----------
    hierarchy : Hierarchy
    labels : LabelIndex
        The labels of the ranker; new ones are noticed.
    """

    def __init__(self, hierarchy: Hierarchy, labels: Labels) -> None:
        self.hierarchy = hierarchy
        self.labels = labels
        self._concepts = np.zeros(0, np.int32)
        self._selections: dict[tuple[Any, ...], Mask] = {}

    def concepts(self) -> NDArray[np.int32]:
        """Return the concept of each label by number; -1 if it has none."""
        names, linked = self.labels.names, self._concepts
        if len(names) > len(linked):
            found = map(self.hierarchy.number_of, names[len(linked) :])
            new = np.array([-1 if number is None else number for number in found], np.int32)
            linked = self._concepts = np.concatenate([linked, new])  # several threads may do this, with the same result
        return linked

    def above(self, label: int) -> Mapping[int, int]:
        """Return the concepts above a label, with their distances; none if it is not in the hierarchy."""
        concept = int(self.concepts()[label])
        return {} if concept < 0 else self.hierarchy.ancestors(concept)

    def forget(self) -> None:
        """Resolve all names again, because labels were renamed."""
        self._concepts = np.zeros(0, np.int32)
        self._selections.clear()

    # -- selecting -----------------------------------------------------------------------------------

    def select(self, only: Iterable[Any] | None, without: Iterable[Any], find: Find) -> Mask | None:
        """Return which labels are allowed, by number; None if all are.

        Parameters
        ----------
        only, without : iterable of str
            Labels, their names, or schemes. A label stands for itself and all labels below it; with "="
            before it, for itself alone.
        find : callable
            Returns the label with a name, or None; raises ValueError if there are several.
        """
        wanted, unwanted = None if only is None else tuple(only), tuple(without)
        if wanted is None and not unwanted:
            return None
        key = (wanted, unwanted, len(self.labels.names))
        allowed = self._selections.get(key)
        if allowed is None:
            allowed = np.ones(len(self.labels.names), bool) if wanted is None else self._any_of(wanted, find)
            allowed = allowed & ~self._any_of(unwanted, find)
            if not allowed.any():
                raise ValueError("no label of the model is left; give other labels, branches or schemes")
            if len(self._selections) >= SELECTIONS:
                self._selections.clear()
            self._selections[key] = allowed
        return allowed

    def _any_of(self, items: Iterable[Any], find: Find) -> Mask:
        """Return which labels are selected. All items are looked up together: there may be many."""
        hierarchy, chosen = self.hierarchy, np.zeros(len(self.labels.names), bool)
        branches, schemes, unknown = [], [], []
        for item in items:
            exact = not isinstance(item, str) or item.startswith(EXACTLY)
            label = item.removeprefix(EXACTLY) if isinstance(item, str) else item
            if label in self.labels:
                chosen[self.labels.id_of(label)] = True
            elif exact and isinstance(label, str) and label not in hierarchy:
                named = find(label)  # a file of labels may have unknown ones
                if named is not None and named in self.labels:
                    chosen[self.labels.id_of(named)] = True
            if exact:
                continue
            number = hierarchy.number_of(label)
            if number is not None:
                branches.append(number)
            elif label not in self.labels:
                scheme, equal = hierarchy.scheme_number(label), hierarchy.matching(label)
                schemes += [] if scheme is None else [scheme]
                branches += [] if equal is None or scheme is not None else [equal]
                unknown += [label] if scheme is None and equal is None else []
        for label in (self._named(name, find) for name in unknown):
            number = hierarchy.number_of(label)
            branches += [] if number is None else [number]
            if label in self.labels:
                chosen[self.labels.id_of(label)] = True
        if branches or schemes:
            concepts, of_label = hierarchy.branches(branches) | hierarchy.in_schemes(schemes), self.concepts()
            chosen |= concepts[of_label] & (of_label >= 0)
        return chosen

    @staticmethod
    def _named(name: str, find: Find) -> str:
        """Return the label with a name; ValueError if there is none, or several."""
        label = find(name)
        if label is None:
            raise ValueError(f"{name!r} is not a label, the name of a label, or a scheme of the model")
        return label


class Chooser:
    """Choose ranked labels: allowed ones, and not a label together with one above it.

    Parameters
    ----------
    links : LabelLinks
    allowed : ndarray of bool, or None
        Which labels are allowed, by number; None means all.
    keep_parents : bool
        Whether a label may be chosen together with one above it. If not, the one that ranks lower is left out.
    """

    def __init__(self, links: LabelLinks, allowed: Mask | None = None, *, keep_parents: bool = True) -> None:
        self._links = links
        self._allowed = allowed
        self._keeps_parents = keep_parents or not len(links.hierarchy)

    @property
    def chooses(self) -> bool:
        """Whether any label may be left out."""
        return self._allowed is not None or not self._keeps_parents

    def allowed_labels(self, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return the labels of texts without those that are not allowed; unknown labels are not."""
        if self._allowed is None:
            return [list(row) for row in rows]
        labels, allowed = self._links.labels, self._allowed
        return [[name for name in row if name in labels and allowed[labels.id_of(name)]] for row in rows]

    def positions(self, labels: Sequence[int], k: int) -> list[int]:
        """Return the positions of the first k chosen labels of a ranking; -1 is padding."""
        allowed = self._allowed
        if allowed is None:
            places = [place for place, label in enumerate(labels) if label >= 0]
        else:
            ranked = np.asarray(labels, np.int64)
            within = (ranked >= 0) & (ranked < len(allowed))  # a label that was added since is not allowed
            places = np.flatnonzero(within & allowed[np.where(within, ranked, 0)]).tolist()
        if self._keeps_parents:
            return places[:k]
        return self._without_parents(labels, places, k)

    def _without_parents(self, labels: Sequence[int], places: list[int], k: int) -> list[int]:
        concepts = self._links.concepts()
        kept: list[int] = []
        own: set[int] = set()  # the concepts of the kept labels
        above: set[int] = set()  # the concepts above them
        for place in places:
            if len(kept) == k:
                break
            concept = int(concepts[labels[place]])
            if concept >= 0:
                ancestors = self._links.hierarchy.ancestors(concept)
                if concept in above or not own.isdisjoint(ancestors):
                    continue
                own.add(concept)
                above.update(ancestors)
            kept.append(place)
        return kept


def without_parents(labels: NDArray[np.int32], assigned: Mask, links: LabelLinks) -> Mask:
    """Return assigned labels of rankings without those that have a better one above or below them."""
    chooser = Chooser(links, keep_parents=False)
    if not chooser.chooses:
        return assigned
    kept = np.zeros_like(assigned)
    for row, (numbers, given) in enumerate(zip(labels, assigned, strict=True)):
        places = np.flatnonzero(given)
        kept[row, places[chooser.positions(numbers[places].tolist(), len(places))]] = True
    return kept
