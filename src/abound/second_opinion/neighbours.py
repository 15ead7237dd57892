"""The vectors of learned texts, and the votes of those that are most similar to a text."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abound.growing import Growing, LabelLists
from abound.kernels.nearest import Best, fewest_differences
from abound.second_opinion.vectors import Codes, Floats, exp, lengths
from abound.store import Model, decode_names, encode_names

VOTERS = 100  # most similar texts that vote
WIDTH = 0.1  # difference of similarity by which the vote of a text falls to a third
MANY_ROWS = 100_000  # from which on rows are selected by their sign bits first
SELECTED = 2_000  # rows that are then compared exactly
LONGEST_TEXT = 200  # characters of a text that are kept, to show it


class NeighbourVotes(NamedTuple):
    """The labels that the most similar texts vote for."""

    labels: NDArray[np.int32]  # ascending
    shares: Floats  # of all votes
    nearest: Floats  # the similarity of the nearest text with the label


class Neighbours:
    """The vectors of learned texts with their labels.

    A text that is forgotten leaves no trace in what `state` returns: the state is that of the remaining texts, in the
    order in which they were learned.

    Parameters
    ----------
    dimensions : int
        The length of a vector.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._loaded: Codes = np.zeros((0, dimensions), np.int8)  # mapped; others are appended
        self._added: Growing[np.int8] = Growing(np.zeros((0, dimensions), np.int8))
        self._factors: Growing[np.float64] = Growing(np.zeros(0))  # 1 / length; 0 for a forgotten text
        self._keys: Growing[np.uint64] = Growing(np.zeros(0, np.uint64))
        self._corrected: Growing[np.uint8] = Growing(np.zeros(0, np.uint8))
        self._right, self._wrong = LabelLists(), LabelLists()
        self._texts = Texts()
        self._bits: Growing[np.uint64] | None = None
        self._by_key: dict[int, int] | None = None  # the last correction of each text; found when it is needed

    def __len__(self) -> int:
        return int(np.count_nonzero(self._factors.rows))

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        parts = (self._added, self._factors, self._keys, self._corrected, self._right, self._wrong)
        bits = 0 if self._bits is None else self._bits.nbytes
        return self._loaded.nbytes + sum(part.nbytes for part in parts) + bits + self._texts.nbytes

    # -- learning ------------------------------------------------------------------------------------

    def add(
        self, code: Codes, right: ArrayLike, text: str | None, *, wrong: ArrayLike = (), corrected: bool = False
    ) -> None:
        """Add the vector of a text; one without a direction is left out.

        Parameters
        ----------
        code : ndarray of shape (dimensions,)
        right, wrong : array of int
            Label numbers.
        text : str or None
            The text to show; only its beginning is kept. None if texts are not kept.
        corrected : bool
            Whether a person has decided on the labels of this text.
        """
        (length,) = lengths(code[None]).tolist()
        if not length:
            return
        self._added.extend(code)
        self._factors.extend([1.0 / length])
        self._keys.extend([key_of(code)])
        self._corrected.extend([corrected])
        self._right.append(right)
        self._wrong.append(wrong)
        if corrected:
            self._last_corrections()[key_of(code)] = len(self._right) - 1
        self._texts.append("" if text is None else text[:LONGEST_TEXT])
        if self._bits is not None:
            self._bits.extend(sign_bits(code[None]))

    def add_many(self, codes: Codes, right: Sequence[NDArray[np.int32]], texts: Sequence[str] | None) -> None:
        """Add the vectors of texts as `add` does, in much less time; texts without labels are left out, too."""
        long = lengths(codes)
        chosen: list[int] = [row for row, own in enumerate(right) if len(own) and long[row] > 0]
        kept = codes[chosen]
        self._added.extend(kept)
        self._factors.extend(1.0 / long[chosen])
        self._keys.extend(np.array([key_of(code) for code in kept], np.uint64))
        self._corrected.extend(np.zeros(len(chosen), np.uint8))
        self._right.extend([right[row] for row in chosen])
        self._wrong.extend([np.zeros(0, np.int32)] * len(chosen))
        for row in chosen:
            self._texts.append("" if texts is None else texts[row][:LONGEST_TEXT])
        if self._bits is not None:
            self._bits.extend(sign_bits(kept))

    def forget(self, code: Codes) -> int:
        """Forget all texts with a vector; return how many there were."""
        found = np.flatnonzero((self._keys.rows == key_of(code)) & (self._factors.rows > 0))
        if len(found):
            self._factors.own()[found] = 0.0
            self._last_corrections().pop(key_of(code), None)
            for row in found.tolist():
                self._texts.erase(row)
                if row >= len(self._loaded):
                    self._added.own()[row - len(self._loaded)] = 0
        return len(found)

    def labels_of(self, code: Codes) -> list[NDArray[np.int32]]:
        """Return the right labels of all texts with a vector."""
        found = np.flatnonzero((self._keys.rows == key_of(code)) & (self._factors.rows > 0))
        return [self._right[row] for row in found.tolist()]

    # -- searching -----------------------------------------------------------------------------------

    def search(self, code: Codes, k: int = VOTERS, *, exactly: bool = False) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows of the most similar texts, and their similarity from -1 to 1, the best first.

        With `exactly`, all rows are compared. Otherwise many rows are selected by their sign bits first.
        """
        (length,) = lengths(code[None]).tolist()
        n = len(self._factors)
        if not length or not n:
            return np.zeros(0, np.int64), np.zeros(0)
        best, query = Best(min(k, n)), code.astype(np.int16)
        parts = ((0, self._loaded), (len(self._loaded), self._added.rows))
        if n < MANY_ROWS or exactly:
            for first, codes in parts:
                factors = self._factors.rows[first : first + len(codes)]
                best.offer(codes, factors, np.zeros(len(codes)), query, 1.0 / length, first)
        else:
            chosen = fewest_differences(self._sign_bits(), sign_bits(code[None])[0], SELECTED)
            for first, codes in parts:
                factors = self._factors.rows[first : first + len(codes)]
                among = chosen[(chosen >= first) & (chosen < first + len(codes))] - np.int32(first)
                if len(among):
                    best.offer_chosen(codes, factors, np.zeros(len(codes)), query, 1.0 / length, first, among)
        return best.taken()

    def _sign_bits(self) -> NDArray[np.uint64]:
        if self._bits is None:
            self._bits = Growing(sign_bits(self._loaded))
            self._bits.extend(sign_bits(self._added.rows))
        return self._bits.rows

    def votes(self, rows: NDArray[np.int64], similarities: Floats) -> NeighbourVotes:
        """Return the labels that texts vote for; a text with many labels has a smaller vote for each."""
        indptr, ids = self._right.arrays
        counts = indptr[rows + 1] - indptr[rows]
        if not counts.sum():
            return NeighbourVotes(np.zeros(0, np.int32), np.zeros(0), np.zeros(0))
        entries = np.repeat(indptr[rows] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        labels, places = np.unique(ids[entries], return_inverse=True)
        weights = exp((similarities - similarities[0]) / WIDTH) / np.sqrt(np.maximum(counts, 1))
        sums = np.bincount(places, np.repeat(weights, counts), len(labels))
        nearest = np.full(len(labels), -1.0)
        np.maximum.at(nearest, places, np.repeat(similarities, counts))
        return NeighbourVotes(labels, sums / sums.sum(), nearest)

    def correction(self, code: Codes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the right and wrong labels of the last correction of this very text; both empty if there is none."""
        row = self._last_corrections().get(key_of(code))
        if row is None:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        return self._right[row], self._wrong[row]

    def _last_corrections(self) -> dict[int, int]:
        """Return the row of the last correction of each text, by the key of its vector."""
        if self._by_key is None:
            rows = np.flatnonzero((self._corrected.rows > 0) & (self._factors.rows > 0))
            self._by_key = dict(zip(self._keys.rows[rows].tolist(), rows.tolist(), strict=True))
        return self._by_key

    def shown(self, row: int) -> tuple[str, NDArray[np.int32]]:
        """Return the beginning of a text, and its labels."""
        return self._texts[row], self._right[row]

    def decided(self, rows: Sequence[int]) -> list[int]:
        """Return the labels of a text that was learned several times: the last right ones without those refused since.

        A text that was learned with wrong labels only keeps its other labels.
        """
        labels: list[int] = []
        for row in sorted(rows):
            wrong = set(self._wrong[row].tolist())
            labels = [label for label in self._right[row].tolist() or labels if label not in wrong]
        return labels

    # -- merging and saving --------------------------------------------------------------------------

    def take_over(self, other: Self, numbers: NDArray[np.int32]) -> None:
        """Add all texts of another object, whose labels have new numbers here."""
        for row in other._kept().tolist():
            right, wrong = numbers[other._right[row]], numbers[other._wrong[row]]
            corrected = bool(other._corrected.rows[row])
            self.add(other._code(row), right, other._texts[row], wrong=wrong, corrected=corrected)

    def _kept(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._factors.rows)

    def _code(self, row: int) -> Codes:
        n = len(self._loaded)
        code: Codes = self._loaded[row] if row < n else self._added.rows[row - n]
        return code

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the texts that are not forgotten, in order."""
        kept = self._kept()
        if len(kept) == len(self._loaded) == len(self._factors):
            codes: Codes = self._loaded
        else:
            codes = np.concatenate([self._loaded, self._added.rows])[kept]
        texts = encode_names(self._texts[row] for row in kept.tolist())
        right, wrong = _chosen_lists(self._right, kept), _chosen_lists(self._wrong, kept)
        return {
            "vectors": codes,
            "keys": self._keys.rows[kept].view(np.int64),
            "corrected": self._corrected.rows[kept],
            **dict(zip(("right_indptr", "right"), right, strict=True)),
            **dict(zip(("wrong_indptr", "wrong"), wrong, strict=True)),
            **dict(zip(("texts", "text_offsets"), texts, strict=True)),
        }

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], dimensions: int, n_labels: int) -> Self:
        """Build from what `state` returned; ValueError or DamagedModel if it cannot be used."""
        model, made = Model({}, dict(arrays)), cls(dimensions)
        made._loaded = model.take("vectors", np.int8, None, dimensions)
        n, long = len(made._loaded), lengths(made._loaded)
        if not np.all(long > 0):
            raise ValueError("a vector of a text is 0")
        made._factors = Growing(1.0 / long)
        made._keys = Growing(model.take("keys", np.int64, n).view(np.uint64))
        made._corrected = Growing(model.take("corrected", np.uint8, n))
        made._right, made._wrong = (_checked_lists(model, name, n, n_labels) for name in ("right", "wrong"))
        made._texts = Texts(model.take("texts", np.uint8, None), model.take("text_offsets", np.int64, n + 1))
        return made


class Texts:
    """The beginnings of texts. Those of a model are decoded when they are needed."""

    def __init__(self, data: NDArray[np.uint8] | None = None, offsets: NDArray[np.int64] | None = None) -> None:
        self._data = np.zeros(0, np.uint8) if data is None else data
        self._offsets = np.zeros(1, np.int64) if offsets is None else offsets
        if self._offsets[0] != 0 or self._offsets[-1] != len(self._data) or np.any(np.diff(self._offsets) < 0):
            raise ValueError("the offsets of texts must ascend from 0 to their size")
        self._erased: set[int] = set()
        self._added: list[str] = []

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._data.nbytes + self._offsets.nbytes + sum(map(len, self._added))

    def append(self, text: str) -> None:
        """Append a text."""
        self._added.append(text)

    def erase(self, row: int) -> None:
        """Replace a text by an empty one."""
        n = len(self._offsets) - 1
        if row < n:
            self._erased.add(row)
        else:
            self._added[row - n] = ""

    def __getitem__(self, row: int) -> str:
        n = len(self._offsets) - 1
        if row >= n:
            return self._added[row - n]
        if row in self._erased:
            return ""
        start, stop = int(self._offsets[row]), int(self._offsets[row + 1])
        return str(decode_names(self._data[start:stop], np.array([0, stop - start]))[0])


def key_of(code: Codes) -> int:
    """Return a number that identifies a vector."""
    return int.from_bytes(hashlib.blake2b(code.tobytes(), digest_size=8).digest(), "little")


def sign_bits(codes: Codes) -> NDArray[np.uint64]:
    """Return one bit per number: whether it is positive."""
    packed = np.packbits(codes > 0, axis=1)
    padded = np.zeros((len(codes), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    bits: NDArray[np.uint64] = padded.view(np.uint64)
    return bits


def _chosen_lists(lists: LabelLists, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    chosen: Sequence[NDArray[np.int32]] = [lists[row] for row in rows.tolist()]
    indptr = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum([len(one) for one in chosen], out=indptr[1:])
    return indptr, np.concatenate([np.zeros(0, np.int32), *chosen])


def _checked_lists(model: Model, name: str, n: int, n_labels: int) -> LabelLists:
    indptr, ids = model.take(f"{name}_indptr", np.int64, n + 1), model.take(name, np.int32, None)
    if indptr[0] != 0 or indptr[-1] != len(ids) or np.any(np.diff(indptr) < 0):
        raise ValueError(f"the {name} labels of texts must have ascending offsets")
    if len(ids) and not (ids.min() >= 0 and ids.max() < n_labels):
        raise ValueError(f"the {name} labels of texts must be known labels")
    return LabelLists(indptr, ids)
