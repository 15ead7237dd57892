"""The tagger: a text encoder and a ranker, from texts to ranked label names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.kernels.batch import Batch
from abound.ordinal.bands import BAND_NAMES, Bands
from abound.rankers.ranking import Ranking
from abound.tagger.answers import BandedEntry, Entry, TextExplanation, entries_of
from abound.tagger.arguments import as_list, validate_examples, validate_labels, validate_names
from abound.tagger.emptiness import warn_of_empty
from abound.tagger.label_lists import warn_of_labels
from abound.tagger.parts import TaggerParts
from abound.tagger.pruning import prune
from abound.tagger.training import Training
from abound.tagger.votes import TextVotes

if TYPE_CHECKING:
    import scipy.sparse as sp

CHUNK = 4096  # texts that are encoded at once
BANDED = 10  # labels of a ranking that are cut into bands


class Tagger(TaggerParts):
    """Rank labels for texts, and learn from each correction.

    Parameters
    ----------
    ranker : str
        The kind of ranker; see `abound.rankers.KINDS`.
    ranker_params : dict, optional
        Its parameters.
    language : str or None
        The language of the texts, such as "en" or "fi". It decides how words are cut: to stems, and into parts where
        words are often compounds. "auto" has `fit` detect it from a sample of the texts. Whole words are used where
        most texts are not in one language, and in a stream that was never fitted. None keeps words whole.
    name_weight : float
        How much the name of a label counts as an example of it, beside a text; 0 does not learn names.
    **text
        Parameters of `abound.text.TextEncoder`, which overrule what the language suggests: ngrams, char_ngrams, stem,
        min_count, weighting, slope, max_terms, run_weight, part_weight, form_weight.

    Examples
    --------
    >>> from abound import Tagger
    >>> tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle", "sport"]])
    >>> tagger.rank("apple pie")[0].label
    'fruit'
    >>> tagger.learn("apple pie", ["dessert"])
    >>> [entry.label for entry in tagger.rank("a pie")][:1]
    ['dessert']
    """

    # -- learning ------------------------------------------------------------------------------------

    def fit(
        self,
        texts: Iterable[str],
        labels: Iterable[Iterable[Any]],
        *,
        label_names: Mapping[Any, str | Sequence[str]] | None = None,
    ) -> Self:
        """Learn texts from scratch, whatever order they are in.

        All texts are counted first. Then the ranker goes through them as often as suits it, in a random order that
        depends on its `random_state` only. `learn` can go on from there: document frequencies run on, and new words
        and labels become known.

        Parameters
        ----------
        texts : iterable of str
        labels : iterable of lists of names
            The labels of each text.
        label_names : mapping from label to name or names, optional
            What a person calls a label, the preferred name first; see `learn_names`.

        Returns
        -------
        self
        """
        texts, labels = validate_examples(as_list(texts), as_list(labels))
        names = validate_names(label_names or {})
        warn_of_labels(labels)
        training = Training(self, names)
        training.add(texts, labels)
        training.learn()
        return self

    def learn_names(self, names: Mapping[Any, str | Sequence[str]]) -> None:
        """Learn what labels are called: each name is a small text of its label.

        A label without any example can be ranked then. Names count `name_weight` times as much as a text, but not as
        rows.
        """
        all_names = validate_names(names)
        self.label_names.update({str(label): found for label, found in all_names.items()})  # in place: they may be many
        if not self.name_weight:
            return
        pairs = [(name, [label]) for label, found in all_names.items() for name in found]
        for start in range(0, len(pairs), CHUNK):
            part = pairs[start : start + CHUNK]
            rows = Rows(*self.encoder.rows([name for name, _ in part], learn=True))
            rows = rows._replace(data=rows.data * self.name_weight)
            self.ranker.learn(self._noted(rows, [labels for _, labels in part], count=False))

    def learn(self, text: str, labels: Iterable[Any], *, wrong: Iterable[Any] = (), insist: bool = True) -> None:
        """Learn one text and its labels; the next ranking knows them.

        Parameters
        ----------
        text : str
        labels : iterable of names
            Labels that are right; new ones become known.
        wrong : iterable of names
            Labels that are known to be wrong, and only these: of the others nothing is said.
        insist : bool
            Whether a ranker that can goes on until the labels stand first for this text, and no wrong one does, as a
            person who corrects expects. Without, a text counts for no more than one of many.
        """
        self.learn_many([text], [labels], wrong=[wrong], insist=insist)

    def learn_many(
        self,
        texts: Sequence[str],
        labels: Sequence[Iterable[Any]],
        *,
        wrong: Sequence[Iterable[Any]] | None = None,
        insist: bool = False,
    ) -> None:
        """Learn texts in order; the state is the same as after one `learn` for each that does or does not insist.

        All inputs are validated before any is learned.
        """
        texts, labels = validate_examples(texts, labels)
        rejected = None if wrong is None else validate_examples(texts, wrong)[1]
        if rejected is not None and not any(rejected):
            rejected = None
        if rejected is not None:
            self.ranker.check_wrong(labels, rejected)
        step = 1 if insist or rejected is not None else CHUNK
        for start in range(0, len(texts), step):
            part = slice(start, start + step)
            # A text that is only told what it is not is no example, and its words are not counted.
            example = rejected is None or bool(labels[start]) or not rejected[start]
            rows = Rows(*self.encoder.rows(texts[part], learn=example))
            batch = self._noted(rows, labels[part], count=example)
            if rejected is not None:
                batch = Batch(rows, batch.targets, self.ranker.labels_.known(rejected[part]))
            self.ranker.learn(batch)
            if insist:
                self.ranker.insist(batch)

    def _noted(self, rows: Rows, labels: Sequence[Iterable[Any]], *, count: bool = True) -> Batch:
        """Make the labels of rows that are to be learned known, and count them."""
        return self.ranker.make_batch(rows, labels, "lists", self.encoder.n_terms, count=count)

    # -- ranking -------------------------------------------------------------------------------------

    def rank(self, text: str, k: int = 10) -> list[Entry]:
        """Rank the best labels of one text.

        Returns
        -------
        list of Entry
            At most k, best first; a text without a known word has none, and a warning (`EmptyRanking`) says so.
        """
        return self._ranked([text], k)[0]

    def rank_many(self, texts: Iterable[str], k: int = 10) -> list[list[Entry]]:
        """Rank the best labels of each text; one warning (`EmptyRanking`) counts the texts that have none."""
        return self._ranked(list(texts), k)

    def _ranked(self, texts: list[str], k: int) -> list[list[Entry]]:
        found = entries_of(self.rank_arrays(texts, k))
        warn_of_empty(self, texts, found)
        return found

    def rank_arrays(self, texts: Iterable[str], k: int = 10) -> Ranking:
        """Rank as arrays, for the metrics."""
        return self.rank_rows(self.rows_of(texts), k)

    def rows_of(self, texts: Iterable[str]) -> Rows:
        """Return texts as rows over the terms that are known."""
        return Rows(*self.encoder.rows(list(texts)))

    def rank_rows(self, rows: Rows, k: int = 10) -> Ranking:
        """Rank rows over terms."""
        if not isinstance(k, int) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
        return self.ranker.rank_rows(rows, k)

    def score_rows(self, rows: Rows, numbers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of labels, by number, for each row; NaN for one that gets no vote.

        What candidates weigh beside their votes is left out.
        """
        return self.ranker.score_rows(rows, numbers)

    def rank_with_bands(self, text: str) -> list[BandedEntry]:
        """Rank the labels of one text and say which to apply, which to suggest and which to hide."""
        return self.rank_with_bands_many([text])[0]

    def rank_with_bands_many(self, texts: Iterable[str]) -> list[list[BandedEntry]]:
        """Rank the labels of each text and cut them into bands, as `feedback` has taught them."""
        if self.bands is None:
            raise ValueError("the tagger has no bands yet: teach them with feedback on ranked labels")
        ranking = self.rank_arrays(texts, BANDED)
        bands = self.bands.cut(ranking.indices, ranking.scores).tolist()
        likely = self.bands.probabilities(ranking.indices, ranking.scores).tolist()
        return [
            [
                BandedEntry(ranking.names[label], score, place, BAND_NAMES[band], probability)
                for place, (label, score, band, probability) in enumerate(zip(*row, strict=True), 1)
                if label >= 0
            ]
            for row in zip(ranking.indices.tolist(), ranking.scores.tolist(), bands, likely, strict=True)
        ]

    def feedback(self, text: str, accepted: Iterable[Any], rejected: Iterable[Any] | None = None) -> None:
        """Teach the bands by what a person accepted and rejected of the labels shown for a text.

        The ranker is not taught; `learn` does that, and may follow. Bands begin with the first feedback, unless
        `bands` was set before, to choose targets.

        Parameters
        ----------
        accepted : iterable of names
        rejected : iterable of names, optional
            Without, every shown label that was not accepted was rejected.
        """
        self.feedback_many([text], [accepted], None if rejected is None else [rejected])

    def feedback_many(
        self,
        texts: Sequence[str],
        accepted: Sequence[Iterable[Any]],
        rejected: Sequence[Iterable[Any]] | None = None,
    ) -> None:
        """Teach the bands by several texts, in order; see `feedback`."""
        right = [set(validate_labels(names)) for names in accepted]
        wrong = None if rejected is None else [set(validate_labels(names)) for names in rejected]
        if len(right) != len(texts) or (wrong is not None and len(wrong) != len(texts)):
            raise ValueError(f"there are {len(texts)} texts; give accepted and rejected labels for each")
        if self.bands is None:
            self.bands = Bands()
        ranking = self.rank_arrays(texts, BANDED)
        names = [[ranking.names[i] if i >= 0 else None for i in row] for row in ranking.indices.tolist()]
        yes = np.array([[name in of for name in row] for row, of in zip(names, right, strict=True)], bool)
        shown = None
        if wrong is not None:
            no = [[name in of for name in row] for row, of in zip(names, wrong, strict=True)]
            shown = (yes | np.array(no, bool)).reshape(ranking.indices.shape)
        self.bands.learn(ranking.indices, ranking.scores, yes.reshape(ranking.indices.shape), shown)

    def explain(self, text: str, label: Any) -> TextExplanation:
        """Return the words of a text that vote for a label, their votes and their places.

        Prior and votes, added from first to last, are the label's score; only models of few labels have a prior.
        """
        return self.explain_many(text, [label])[0]

    def explain_many(self, text: str, labels: Iterable[Any]) -> list[TextExplanation]:
        """Explain several labels of one text, which is tokenised only once; see `explain`."""
        return list(self.votes(text, labels).explanations())

    def votes(self, text: str, labels: Iterable[Any]) -> TextVotes:
        """Compute the votes of one text for several labels; their words can be looked up later."""
        return TextVotes(self.encoder, self.ranker, text, [self._number_of(label) for label in labels])

    def explain_row(self, row: Rows, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return the terms of a single row that vote for a label, their votes, and the prior of the label."""
        return self.ranker.explain_row(row, number)

    def _number_of(self, label: Any) -> int:
        try:
            return self.ranker.labels_.id_of(label)
        except KeyError:
            raise ValueError(f"label {label!r} is not known; it must have been learned before") from None

    def truth(self, labels: Sequence[Iterable[Any]]) -> "sp.csr_array[Any]":
        """Return true labels as an indicator over label numbers; see `Ranker.truth`."""
        return self.ranker.truth([validate_labels(names) for names in labels])

    # -- memory --------------------------------------------------------------------------------------

    def prune(self, max_bytes: int) -> dict[str, int]:
        """Bring the tagger under so many bytes, if it holds more, by forgetting the rarest terms.

        Spare room goes first. If that does not do, terms are forgotten from the rarest on until a good part of the
        budget is free again, so that the next call is far off; terms of equal count leave together, so that a run of
        words never outlives its words. While it works, it needs about as much memory again as is left.

        Returns
        -------
        dict
            How many terms and edges were forgotten, and the least count that is left.
        """
        return prune(self, max_bytes)
