"""The second opinion of a tagger: neighbours and prototypes by vectors, blended with the words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.kernels.calibration import N_COMPARED
from abound.second_opinion.blend import FEATURES, LEAST, Blend, Judged
from abound.second_opinion.neighbours import VOTERS, Neighbours
from abound.second_opinion.prototypes import Prototypes
from abound.second_opinion.vectors import Codes, Floats, log
from abound.store.model import Model

N_WORDS, N_PROTOTYPES, N_NEIGHBOURS = 30, 20, 30  # best labels of each voter that are candidates
BEYOND = 1e-9  # the largest score of a label that is no candidate
CORRECTED = 1.0  # added to the score of a label that a person gave to this very text
REFUSED = 1e-6  # factor of the score of a label that a person refused for this very text
SEARCHED = 500  # most similar texts among which those to show are chosen
LEAST_SIMILAR = 0.2  # similarity of a text to show; a smaller one may be by chance
PREFIXES = ("neighbours_", "prototypes_", "blend_")


class WordVotes(NamedTuple):
    """The ranking of one text by its words, the best first, without padding."""

    labels: NDArray[np.int32]
    scores: Floats
    probabilities: Floats | None

    def first(self, n: int) -> "WordVotes":
        """Return the best labels."""
        likely = self.probabilities
        return WordVotes(self.labels[:n], self.scores[:n], None if likely is None else likely[:n])


@dataclass(frozen=True)
class SimilarText:
    """A learned text that is similar to another one.

    Attributes
    ----------
    text : str
        Its beginning.
    labels : list of int
        Label numbers.
    similarity : float
        At most 1.
    """

    text: str
    labels: list[int]
    similarity: float


class Candidates(NamedTuple):
    """The labels that any voter suggests for a text, with their features."""

    labels: NDArray[np.int64]  # ascending
    features: Floats
    right: NDArray[np.int32]  # labels that a person gave to this very text
    wrong: NDArray[np.int32]


class SecondOpinion:
    """What is known about the vectors of texts, and how much it counts beside their words.

    Parameters
    ----------
    dimensions : int
        The length of a vector; 0 if only the scores of a service are weighed.
    keeps_texts : bool
        Whether the beginnings of texts are kept, to show similar ones.
    votes : bool
        Whether it may count in rankings. If not, similar texts are only shown, and labels have no prototypes.
    """

    def __init__(self, dimensions: int, *, keeps_texts: bool = True, votes: bool = True) -> None:
        self.dimensions = dimensions
        self.keeps_texts, self.votes = keeps_texts, votes
        self.neighbours, self.blend = Neighbours(dimensions), Blend(has_vectors=dimensions > 0)
        self.prototypes = Prototypes(dimensions if votes else 0)
        self.blend.is_used = votes

    @classmethod
    def of_blend(cls, blend: Blend) -> Self:
        """Return one without vectors, with what was learned about the scores of a service."""
        made = cls(0)
        made.blend = blend
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.neighbours.nbytes + self.prototypes.nbytes

    # -- ranking -------------------------------------------------------------------------------------

    def candidates(
        self, words: WordVotes, code: Codes, counts: NDArray[np.int64], outside: Mapping[int, float] | None = None
    ) -> Candidates:
        """Return the candidates of one text.

        Parameters
        ----------
        words : WordVotes
            At least `N_WORDS` labels, or all that the words vote for; further ones do not count.
        code : ndarray of shape (dimensions,)
            The vector of the text; zeros if nothing is known about it.
        counts : ndarray of shape (n_labels,)
            Texts of each label.
        outside : mapping from label number to score, optional
            The opinion of a service.
        """
        words = words.first(N_WORDS)  # so that features do not depend on how many labels are ranked
        rows, similarities = self.neighbours.search(code, VOTERS)
        votes = self.neighbours.votes(rows, similarities)
        query = self.prototypes.query(code)
        strongest = votes.labels[np.lexsort((votes.labels, -votes.shares))[:N_NEIGHBOURS]]
        right, wrong = self.neighbours.correction(code)
        found = (words.labels, self.prototypes.best(query, N_PROTOTYPES), strongest, right)
        labels = np.unique(np.concatenate([part.astype(np.int64) for part in found]))
        labels = labels[labels < len(counts)]
        features = np.zeros((len(labels), len(FEATURES)))
        place = _places(words.labels.astype(np.int64), labels)
        ranked = place >= 0
        features[:, 0] = np.where(ranked, _log_odds(words)[place], log(np.array([LEAST]))[0]) if ranked.any() else 0.0
        features[:, 1] = ranked
        features[:, 2] = np.where(ranked, 1.0 / (1.0 + np.maximum(place, 0)), 0.0)
        score, cosine, name = self.prototypes.scores(query, labels)
        features[:, 3], features[:, 4], features[:, 6] = score, cosine, name
        features[:, 5] = reciprocal_ranks(score) if score.any() else 0.0
        n = counts[labels].astype(np.float64)
        features[:, 7], features[:, 8] = log(1.0 + n), n == 0
        at = _places(votes.labels.astype(np.int64), labels)
        voted = at >= 0
        if voted.any():
            features[:, 9] = log(np.where(voted, votes.shares[at], 0.0) + LEAST)
            features[:, 11] = np.where(voted, votes.nearest[at], 0.0)
        else:
            features[:, 9] = log(np.array([LEAST]))[0]
        features[:, 10] = voted
        features[:, 12] = features[:, 2] * features[:, 5]
        if outside:
            scored = np.array([label in outside for label in labels.tolist()])
            features[:, 13] = [outside.get(label, 0.0) for label in labels.tolist()]
            features[:, 14] = scored
        return Candidates(labels, features, right, wrong)

    def rank(
        self, words: WordVotes, code: Codes, counts: NDArray[np.int64], outside: Mapping[int, float] | None = None
    ) -> tuple[NDArray[np.int32], Floats]:
        """Rank the labels of one text: candidates by their share, then the other labels of the words.

        A label that a person gave to this very text comes first, one that was refused comes last.
        """
        found = self.candidates(words, code, counts, outside)
        shares = self.blend.shares(found.features)
        shares = np.where(np.isin(found.labels, found.right), CORRECTED + shares, shares)
        shares = np.where(np.isin(found.labels, found.wrong), REFUSED * shares, shares)
        order = np.lexsort((found.labels, -shares))
        labels, scores = found.labels[order].astype(np.int32), shares[order]
        others = ~np.isin(words.labels, labels)
        if others.any():
            last = min(BEYOND, float(scores[-1]) if len(scores) else BEYOND)
            beyond = last / (2.0 + np.arange(int(others.sum())))
            labels, scores = np.append(labels, words.labels[others]), np.append(scores, beyond)
        return labels.astype(np.int32), scores

    def similar(self, code: Codes, k: int = 3, wanted: Callable[[list[int]], bool] | None = None) -> list[SimilarText]:
        """Return the most similar texts, the best first; with `wanted`, only those with wanted labels."""
        if not self.keeps_texts:
            return []
        texts: dict[str, tuple[float, list[int]]] = {}  # a text may have been learned several times
        # Vectors that do not vote are hashed words: most of their numbers are 0, so that signs select badly.
        searched = self.neighbours.search(code, SEARCHED, exactly=not self.votes)
        for row, similarity in zip(*(part.tolist() for part in searched), strict=True):
            if similarity < LEAST_SIMILAR:
                break
            texts.setdefault(self.neighbours.shown(row)[0], (similarity, []))[1].append(row)
        found: list[SimilarText] = []
        for text, (similarity, rows) in texts.items():
            labels = self.neighbours.decided(rows)
            if labels and (wanted is None or wanted(labels)):
                found.append(SimilarText(text, labels, min(1.0, similarity)))
            if len(found) == k:
                break
        return found

    # -- learning ------------------------------------------------------------------------------------

    def learn(
        self,
        code: Codes,
        right: NDArray[np.int32],
        text: str,
        *,
        wrong: NDArray[np.int32] | Sequence[int] = (),
        corrected: bool = False,
    ) -> None:
        """Learn the vector of one text and its labels."""
        if len(right) or len(wrong):
            kept = text if self.keeps_texts else None
            self.neighbours.add(code, right, kept, wrong=wrong, corrected=corrected)
            if self.votes:
                self.prototypes.add(code[None], [np.asarray(right, np.int32)])
                self.prototypes.update(np.asarray(right, np.int64))

    def forget(self, code: Codes) -> int:
        """Forget all texts with a vector; return how many there were."""
        lists = self.neighbours.labels_of(code)
        for labels in lists if self.votes else ():
            self.prototypes.add(code[None], [labels], sign=-1)
            self.prototypes.update(labels.astype(np.int64))
        return self.neighbours.forget(code)

    def judge(self, found: Candidates, right: NDArray[np.int32], wrong: NDArray[np.int32], *, only_named: bool) -> None:
        """Teach the blend by the right labels of a text that is about to be learned.

        Other labels count as wrong, unless only named ones do.
        """
        is_right = np.isin(found.labels, right)
        known = is_right | np.isin(found.labels, wrong) if only_named or not len(right) else None
        self.blend.learn(Judged(found.features, is_right), known)

    def fit(
        self,
        codes: Codes,
        labels: Sequence[NDArray[np.int32]],
        texts: Sequence[str],
        counts: NDArray[np.int64],
        held: Sequence[WordVotes],
        names: tuple[NDArray[np.int64], Codes],
    ) -> None:
        """Learn all texts; the last ones teach the blend before they are learned.

        Parameters
        ----------
        codes : ndarray of shape (n_texts, dimensions)
        labels : sequence of arrays
            The label numbers of each text.
        texts : sequence of str
        counts : ndarray of shape (n_labels,)
            Texts of each label.
        held : sequence of WordVotes
            The rankings of the last texts by a model that had not learned them.
        names : tuple of arrays
            Label numbers, and the vectors of names of these labels.
        """
        if not self.votes:
            self._add(codes, labels, texts)
            return
        first = len(codes) - len(held)
        self.prototypes.set_names(*names)
        self.prototypes.count(codes)
        self._add(codes[:first], labels[:first], texts[:first])
        self.prototypes.learn_metric(len(counts))
        judged, before = [], counts.copy()
        for own in labels[first:]:
            before[own] -= 1
        found = [self.candidates(words, codes[first + row], before) for row, words in enumerate(held)]
        for row, one in enumerate(found):
            judged.append(Judged(one.features, np.isin(one.labels, labels[first + row])))
        if judged:
            self._fit_blend(judged, found, held, labels[first:])
        self._add(codes[first:], labels[first:], texts[first:])
        self.prototypes.learn_metric(len(counts))

    def _add(self, codes: Codes, labels: Sequence[NDArray[np.int32]], texts: Sequence[str]) -> None:
        if self.votes:
            self.prototypes.add(codes, labels)
        self.neighbours.add_many(codes, labels, texts if self.keeps_texts else None)

    def _fit_blend(
        self,
        judged: list[Judged],
        found: list[Candidates],
        held: Sequence[WordVotes],
        labels: Sequence[NDArray[np.int32]],
    ) -> None:
        """Fit the blend and its calibration; do not use it if the words alone rank better.

        Each half of the texts is ranked by a blend that learned from the other half.
        """
        shares: list[Floats] = [np.zeros(0)] * len(judged)
        for half in (0, 1):
            self.blend.fit([one for row, one in enumerate(judged) if row % 2 != half] or judged)
            for row in range(half, len(judged), 2):
                shares[row] = self.blend.shares(judged[row].features)
        rankings = [one.labels[np.lexsort((one.labels, -own))] for one, own in zip(found, shares, strict=True)]
        blended = sum(_hits(ranked, true) for ranked, true in zip(rankings, labels, strict=True))
        words = sum(_hits(one.labels, true) for one, true in zip(held, labels, strict=True))
        self.blend.fit(judged)
        self.blend.is_used = blended >= words
        shape = (len(judged), N_COMPARED)
        best, scores, right = np.full(shape, -1, np.int32), np.zeros(shape), np.zeros(shape, bool)
        for row, (ranked, own, true) in enumerate(zip(rankings, shares, labels, strict=True)):
            n = min(N_COMPARED, len(ranked))
            best[row, :n], scores[row, :n] = ranked[:n], np.sort(own)[::-1][:n]
            right[row, :n] = np.isin(ranked[:n], true)
        self.blend.calibration.fit(best, scores, right)

    # -- merging and saving --------------------------------------------------------------------------

    def take_over(self, other: Self, numbers: NDArray[np.int32]) -> None:
        """Add what another object has learned; its labels have new numbers here. Call `finish_merge` at the end."""
        self.neighbours.take_over(other.neighbours, numbers)
        if not self.votes:
            return
        self.prototypes.take_over(other.prototypes, numbers)
        if other.blend.n_learned > self.blend.n_learned:
            self.blend = Blend.from_state(other.blend.state())

    def finish_merge(self, n_labels: int) -> None:
        """Compute what depends on all merged objects."""
        if self.votes:
            self.prototypes.learn_metric(n_labels)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as arrays."""
        parts = [self.neighbours.state()]
        if self.votes:
            parts += [self.prototypes.state(), self.blend.state()]
        return {
            prefix + key: array for prefix, part in zip(PREFIXES, parts, strict=False) for key, array in part.items()
        }

    @classmethod
    def from_state(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        dimensions: int,
        n_labels: int,
        *,
        keeps_texts: bool = True,
        votes: bool = True,
    ) -> Self:
        """Build from what `state` returned; ValueError or DamagedModel if it cannot be used."""
        made, model = cls(dimensions, keeps_texts=keeps_texts, votes=votes), Model({}, dict(arrays))
        neighbours, prototypes, blend = (model.under(prefix) for prefix in PREFIXES)
        made.neighbours = Neighbours.from_state(neighbours, dimensions, n_labels)
        if votes:
            made.prototypes = Prototypes.from_state(prototypes, dimensions, n_labels)
            made.blend = Blend.from_state(blend)
        return made


def _places(given: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each wanted number is among the given ones, which all differ; -1 if it is not there."""
    if not len(given):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(given, kind="stable")
    at = np.minimum(np.searchsorted(given, wanted, sorter=order), len(given) - 1)
    places = order[at]
    return np.where(given[places] == wanted, places, -1)


def _log_odds(words: WordVotes) -> Floats:
    """Return the log-odds of the labels of words; without probabilities, they follow from the ranks."""
    likely = words.probabilities
    by_rank: Floats = 0.5 / (1.0 + np.arange(len(words.labels), dtype=np.float64))
    clipped = np.clip(by_rank if likely is None else likely, LEAST, 1.0 - LEAST)
    return log(clipped) - log(1.0 - clipped)


def reciprocal_ranks(scores: Floats) -> Floats:
    """Return one divided by the rank of each score.

    Examples
    --------
    >>> reciprocal_ranks(np.array([0.1, 0.5])).tolist()
    [0.5, 1.0]
    """
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = 1.0 / (1.0 + np.arange(len(scores)))
    return ranks


def _hits(ranked: NDArray[Any], true: NDArray[np.int32]) -> float:
    """Return the mean of the precision at 1, 3 and 5."""
    is_right = np.isin(ranked[:5], true)
    return sum(float(is_right[:k].sum()) / k for k in (1, 3, 5)) / 3
