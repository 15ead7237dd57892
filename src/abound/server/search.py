"""Find labels by the beginning of a word in any of their names, the most frequent first."""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from abound.server.labels import LabelTable
from abound.server.served_names import ServedNames
from abound.store.names import Name
from abound.tagger import LabelQuality
from abound.text.characters import UNSPACED

MAX_WORDS = 12  # words of a name that are indexed
FEW_KEYS = 100  # up to this number, keys are inserted one by one
# A search may begin at any word of a name; in scripts without spaces, at any character.
WORD = re.compile("[{0}]|[^\\W{0}]+".format("".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)))
Key = tuple[str, int]


class LabelMatch(NamedTuple):
    """A label, its displayed name if it has one, the number of its texts, and its quality if it was measured."""

    label: Name
    name: str | None
    texts: int
    quality: LabelQuality | None = None


class LabelSearch:
    """A sorted index of the words of all label names.

    The next search adds labels that were learned since. Labels that were edited must be passed to `update`. Use this
    under the lock of its replica.

    Parameters
    ----------
    labels : LabelTable
    names : ServedNames
    """

    def __init__(self, labels: LabelTable, names: ServedNames) -> None:
        self._labels = labels
        self._names = names
        self._keys: list[Key] = []  # suffixes of names that begin with a word, with the label's number
        self._of: list[list[Key]] = []  # the keys of each label of the book
        self._quality: list[LabelQuality] = []  # the worst first
        self._quality_at: dict[str, int] = {}  # by label
        self._places: list[int] = []  # of each label of the book in `_quality`, or its length

    def rate(self, quality: Sequence[LabelQuality]) -> int:
        """Return the measured quality of labels with them from now on; return how many of these labels are known."""
        self._add_new_labels()
        self._quality = sorted(quality, key=lambda row: (row.f1, -row.support))
        self._quality_at = {str(row.label): place for place, row in enumerate(self._quality)}
        self._places = [self._place_of(number) for number in range(len(self._of))]
        return sum(place < len(self._quality) for place in self._places)

    @property
    def is_rated(self) -> bool:
        """Whether the quality of any label was measured."""
        return bool(self._quality)

    def _place_of(self, number: int) -> int:
        """Return the place of a label in the quality table; a renamed label is there under its former name."""
        label, book = self._labels.book.names[number], self._labels.book
        former = (alias for alias in self._labels.aliases_of(label) if alias not in book) if self._quality else ()
        places = (self._quality_at.get(str(name)) for name in (label, *former))
        return next((place for place in places if place is not None), len(self._quality))

    def update(self, names: Iterable[Name]) -> None:
        """Update the keys of labels that were added, named, renamed, merged or retired, all at once."""
        book = self._labels.book
        labels = {label for name in names for label in (name, self._labels.resolve(name)) if label in book}
        gone: set[Key] = set()
        fresh: set[Key] = set()
        for number in sorted(map(book.id_of, labels)):
            if number < len(self._of):
                before, self._of[number] = self._of[number], self._keys_of(number)
                self._places[number] = self._place_of(number)
                gone |= set(before).difference(self._of[number])
                fresh |= set(self._of[number]).difference(before)
        if len(gone) + len(fresh) > FEW_KEYS:  # each single insertion would move all keys after it
            self._keys = sorted([*(key for key in self._keys if key not in gone), *fresh])
            return
        for key in gone:
            del self._keys[bisect_left(self._keys, key)]
        for key in fresh:
            insort(self._keys, key)

    def _add_new_labels(self) -> None:
        names, start = self._labels.book.names, len(self._of)
        if start == len(names):
            return
        fresh = [self._keys_of(number) for number in range(start, len(names))]
        self._of += fresh
        self._places += [self._place_of(number) for number in range(start, len(names))]
        if len(fresh) > 1000:
            self._keys = sorted([*self._keys, *(key for keys in fresh for key in keys)])
        else:
            for keys in fresh:
                for key in keys:
                    insort(self._keys, key)

    def _keys_of(self, number: int) -> list[Key]:
        label = self._labels.book.names[number]
        if label in self._labels.aliases or label in self._labels.retired:
            return []
        suffixes: set[str] = set()
        for name in self._names.all_of(label):
            folded = name.casefold()
            starts = [match.start() for _, match in zip(range(MAX_WORDS), WORD.finditer(folded), strict=False)]
            suffixes |= {folded, *(folded[start:] for start in starts)}
        return [(suffix, number) for suffix in suffixes]

    def count(self, label: Name) -> int:
        """Return the number of texts of a label, summed over its parts."""
        book = self._labels.book
        return sum(int(book.counts[book.id_of(member)]) for member in self._labels.members(label))

    def find(self, prefix: str, limit: int, *, worst_first: bool = False) -> tuple[int, list[LabelMatch]]:
        """Return how many labels have a word that begins with `prefix`, and the most frequent of them.

        With `worst_first`, those of the lowest quality are returned instead. Labels without a quality come last.
        """
        self._add_new_labels()
        book, folded = self._labels.book, prefix.strip().casefold()
        if folded:
            start = bisect_left(self._keys, (folded, -1))
            stop = bisect_right(self._keys, (folded + "\U0010ffff", len(book)))
            numbers = np.unique(np.fromiter((number for _, number in self._keys[start:stop]), np.int64))
        else:
            numbers = np.flatnonzero(np.fromiter(map(bool, self._of), bool, len(self._of)))
        counts = np.array(book.counts[numbers])
        for label in self._labels.groups:
            counts[numbers == book.id_of(label)] = self.count(label)
        places = np.array(self._places, np.int64)[numbers] if worst_first else np.zeros(len(numbers), np.int64)
        best = numbers[np.lexsort((numbers, -counts, places))[:limit]]  # ties by number: the order of their first texts
        matches = []
        for number in best.tolist():
            label = book.names[number]
            known = self._names.shown(label)
            quality = self._quality[place] if (place := self._places[number]) < len(self._quality) else None
            matches.append(LabelMatch(label, known[0] if known else None, self.count(label), quality))
        return len(numbers), matches
