"""Vectors of texts by their words, without an encoder: similar texts share many rare terms."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from abound.kernels.vocabulary import Vocabulary

N_PLACES = 8  # of a term, so that two terms that share a place still differ


class HashedTerms:
    """Hash each term to a few places in a vector, with a sign at each (Weinberger et al., ICML 2009).

    The name of a term is hashed, not its number, because pruning and merging renumber terms. Places are kept by number
    as long as the vocabulary is the same object: 16 bytes per term.

    Parameters
    ----------
    n_numbers : int
        The length of a vector, at most 32,767.
    """

    def __init__(self, n_numbers: int) -> None:
        self._n_numbers = n_numbers
        self._vocabulary: Vocabulary | None = None
        self._places = np.zeros((0, N_PLACES), np.int16)

    def vectors(
        self, vocabulary: Vocabulary, indptr: NDArray[np.int64], terms: NDArray[np.int32], data: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return one vector per row: the weights of terms that have the same place are added.

        The tf-idf weights are squared. A rare word then counts much more than several common ones.
        """
        places, n = self._places_of(vocabulary, terms), len(indptr) - 1
        rows = np.repeat(np.arange(n), np.diff(indptr))
        at = rows[:, None] * self._n_numbers + np.abs(places) - 1
        weights = np.sign(places) * (data * data)[:, None]
        sums: NDArray[np.float64] = np.bincount(at.ravel(), weights.ravel(), n * self._n_numbers).astype(np.float64)
        return sums.reshape(n, self._n_numbers)

    def _places_of(self, vocabulary: Vocabulary, terms: NDArray[np.int32]) -> NDArray[np.int16]:
        """Return the places of each term; see `places_of`."""
        if vocabulary is not self._vocabulary:
            self._vocabulary, self._places = vocabulary, np.zeros((0, N_PLACES), np.int16)
        if vocabulary.n_terms > len(self._places):
            room = vocabulary.n_terms + vocabulary.n_terms // 2
            self._places = np.concatenate([self._places, np.zeros((room - len(self._places), N_PLACES), np.int16)])
        places = self._places[terms]
        if not places.all():
            for term in np.unique(terms[places[:, 0] == 0]).tolist():
                self._places[term] = places_of(vocabulary.name(term, True), self._n_numbers)
            places = self._places[terms]
        return places


def places_of(name: str, n_numbers: int) -> list[int]:
    """Return the places of a term in a vector, from 1 on; negative where its weight is subtracted.

    Examples
    --------
    >>> places_of("rose", 1024)
    [940, 902, -593, 753, -52, -861, -580, -361]
    """
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=2 * N_PLACES).digest()
    numbers = (int.from_bytes(digest[2 * i : 2 * i + 2], "little") for i in range(N_PLACES))
    return [(1 + (number >> 1) % n_numbers) * (-1 if number & 1 else 1) for number in numbers]
