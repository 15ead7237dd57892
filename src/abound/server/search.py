"""Find labels by the beginnings of words in any of their names, in any order of the words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.server.labels import LabelTable
from abound.server.served_names import ServedNames
from abound.store.names import Name
from abound.tagger import LabelQuality
from abound.text.characters import UNSPACED

MAX_WORDS = 12  # words of a name that are indexed
FEW_KEYS = 100  # up to this number, keys are inserted one by one
# A search may begin at any word of a name; in scripts without spaces, at any character.
WORD = re.compile("[{0}]|[^\\W{0}]+".format("".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)))
TOKEN = re.compile(r"\w+")  # of a query; in scripts without spaces, characters that stand together
Key = tuple[str, int]
Order = NDArray[np.float64]  # by label number, the lowest first


class LabelMatch(NamedTuple):
    """A label that was found.

    Attributes
    ----------
    label : name
    name : str or None
        Its displayed name, if it has one.
    texts : int
        The number of its texts.
    quality : LabelQuality or None
        If it was measured.
    found_by : str or None
        Another name that was searched for: a former one, or that of a label that was merged into it.
    """

    label: Name
    name: str | None
    texts: int
    quality: LabelQuality | None = None
    found_by: str | None = None


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
        self._numbers = np.zeros(0, np.int64)  # of the keys
        self._by_name: Order | None = None  # None if a name has changed

    def prepare(self) -> None:
        """Build the index, which takes long for many labels; otherwise, the first search does it."""
        self.by_name()

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
        self._by_name = None
        if len(gone) + len(fresh) > FEW_KEYS:  # each single insertion would move all keys after it
            self._replace_keys([*(key for key in self._keys if key not in gone), *fresh])
            return
        for key in gone:
            at = bisect_left(self._keys, key)
            del self._keys[at]
            self._numbers = np.delete(self._numbers, at)
        self._insert(fresh)

    def _replace_keys(self, keys: list[Key]) -> None:
        self._keys = sorted(keys)
        self._numbers = np.fromiter((number for _, number in self._keys), np.int64, len(keys))

    def _insert(self, keys: Iterable[Key]) -> None:
        for key in keys:
            at = bisect_left(self._keys, key)
            self._keys.insert(at, key)
            self._numbers = np.insert(self._numbers, at, key[1])

    def _add_new_labels(self) -> None:
        names, start = self._labels.book.names, len(self._of)
        if start == len(names):
            return
        self._by_name = None
        fresh = [self._keys_of(number) for number in range(start, len(names))]
        self._of += fresh
        self._places += [self._place_of(number) for number in range(start, len(names))]
        keys = [key for keys_of in fresh for key in keys_of]
        if len(keys) > FEW_KEYS:
            self._replace_keys([*self._keys, *keys])
        else:
            self._insert(keys)

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

    # -- searching -----------------------------------------------------------------------------------

    def find(
        self, query: str, limit: int, *, offset: int = 0, order: Order | None = None
    ) -> tuple[int, list[LabelMatch]]:
        """Return how many labels match a query, and some of them.

        Parameters
        ----------
        query : str
            Each of its words must be the beginning of a word in a name of the label, in any order.
        limit, offset : int
            How many labels to return, after how many others.
        order : array, optional
            A value for each label, the lowest first. Labels with equal values, or without this all labels, come in the
            order of their numbers of texts, the most frequent first.
        """
        numbers = self.matching(query)
        counts = self.counts()[numbers]
        values = np.zeros(len(numbers)) if order is None else order[numbers]
        sorted_ = np.lexsort((numbers, -counts, values))  # ties by number: the order of their first texts
        tokens = _tokens(query)
        chosen = numbers[sorted_[offset : offset + limit]].tolist()
        return len(numbers), [self._match(number, tokens) for number in chosen]

    def matching(self, query: str) -> NDArray[np.int64]:
        """Return the numbers of all labels that match a query, in ascending order."""
        self._add_new_labels()
        found = np.zeros(len(self._of), bool)
        found[self._numbers] = True  # a label that is not shown has no keys
        for token in _tokens(query):
            has = np.zeros(len(self._of), bool)
            start = bisect_left(self._keys, (token, -1))
            stop = bisect_right(self._keys, (token + "\U0010ffff", len(self._of)))
            has[self._numbers[start:stop]] = True
            found &= has
        return np.flatnonzero(found)

    def counts(self) -> NDArray[np.int64]:
        """Return the number of texts of each label by its number; those of a merged label's parts are added."""
        counts, groups = np.array(self._labels.book.counts), self._labels.merged
        if len(groups.members):
            counts[groups.numbers] = np.add.reduceat(counts[groups.members], groups.starts)
        return counts

    def _match(self, number: int, tokens: Sequence[str]) -> LabelMatch:
        label = self._labels.book.names[number]
        known = self._names.shown(label)
        quality = self._quality[place] if (place := self._places[number]) < len(self._quality) else None
        members = map(self._labels.book.id_of, self._labels.members(label))
        texts = sum(int(self._labels.book.counts[member]) for member in members)
        shown = known[0] if known else str(label)
        found_by = None
        if not _has(shown, tokens):
            others = (name for name in self._names.all_of(label)[1:] if _has(name, tokens))
            found_by = next(others, None)
        return LabelMatch(label, known[0] if known else None, texts, quality, found_by)

    # -- orders --------------------------------------------------------------------------------------

    def by_name(self) -> Order:
        """Return the order of the names that are shown."""
        if self._by_name is None:
            self._add_new_labels()
            book = self._labels.book.names
            folded = [(self._names.shown(label) or [str(label)])[0].casefold() for label in book]
            self._by_name = np.empty(len(book))
            self._by_name[sorted(range(len(book)), key=folded.__getitem__)] = np.arange(len(book))
        return self._by_name

    def by_quality(self, *, best_first: bool = False) -> Order:
        """Return the order of the measured F1, the worst first; labels that were not measured come last."""
        self._add_new_labels()
        places = np.array(self._places, np.float64)
        is_rated = places < len(self._quality)
        return np.where(is_rated, -places if best_first else places, np.inf)


def _tokens(query: str) -> list[str]:
    """Return the words of a query; a query without a word is taken as a whole."""
    folded = query.strip().casefold()
    return TOKEN.findall(folded) or ([folded] if folded else [])


def _has(name: str, tokens: Sequence[str]) -> bool:
    """Return whether each token is the beginning of a word of a name."""
    folded = name.casefold()
    starts = [0, *(match.start() for match in WORD.finditer(folded))]
    return all(any(folded.startswith(token, start) for start in starts) for token in tokens)
