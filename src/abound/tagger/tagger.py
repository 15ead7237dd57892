"""The tagger: a text encoder and a ranker, from texts to ranked label names."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from abound.errors import UnknownFormat
from abound.ordinal.bands import BAND_NAMES, Bands
from abound.rankers import ranker_class
from abound.rankers.base import check_number
from abound.rankers.index import IndexRanker
from abound.rankers.labels import Targets
from abound.rankers.ranking import Ranking
from abound.rankers.rows import NOTHING, Rows
from abound.store import Model, read_model, state_hash, write_model
from abound.store.directory import Source
from abound.tagger.answers import BandedEntry, Entry, TextExplanation, WordVote, entries_of
from abound.tagger.arguments import checked, gathered, listed, named
from abound.tagger.emptiness import warn_of_empty
from abound.tagger.keeping import arrays_of, read_label_names, restored
from abound.tagger.label_lists import warn_of_labels
from abound.tagger.pruning import prune
from abound.tagger.training import Training
from abound.text import TextEncoder
from abound.text.language import AUTO, choice_of

if TYPE_CHECKING:
    import scipy.sparse as sp

CHUNK = 4096  # texts that are encoded at once
BANDED = 10  # labels of a ranking that are cut into bands


class Tagger:
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

    kind: ClassVar[str] = "tagger"

    def __init__(
        self,
        ranker: str = "cascade",
        *,
        ranker_params: Mapping[str, Any] | None = None,
        language: str | None = AUTO,
        name_weight: float = 4.0,
        **text: Any,
    ) -> None:
        check_number("name_weight", name_weight, 0.0, 1000.0)
        self.ranker = ranker_class(ranker)(**dict(ranker_params or {}))
        self.ranker._check_params()
        self.name_weight = name_weight
        self._text_params = text
        self.detects_language = language == AUTO
        self.set_language(language)
        self._label_names: dict[str, list[str]] | None = {}
        self._saved_names: tuple[NDArray[Any], ...] = ()
        self.bands: Bands | None = None
        self.ranker._start()

    def set_language(self, language: str | None) -> None:
        """Cut texts as suits a language from now on, and forget every term; what was given explicitly stays."""
        choice = choice_of(None if language == AUTO else language)
        self.encoder = TextEncoder(**{**choice._asdict(), **self._text_params})
        self.language = language

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
        texts, labels = checked(gathered(texts), gathered(labels))
        names = named(label_names or {})
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
        all_names = named(names)
        self.label_names.update({str(label): found for label, found in all_names.items()})  # in place: they may be many
        if not self.name_weight:
            return
        pairs = [(name, [label]) for label, found in all_names.items() for name in found]
        for start in range(0, len(pairs), CHUNK):
            part = pairs[start : start + CHUNK]
            rows = Rows(*self.encoder.rows([name for name, _ in part], learn=True))
            rows = rows._replace(data=rows.data * self.name_weight)
            self.ranker._learn(rows, self._encode(rows, [labels for _, labels in part], count=False))

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

        All inputs are validated before any is learnt.
        """
        texts, labels = checked(texts, labels)
        rejected = None if wrong is None else checked(texts, wrong)[1]
        if rejected is not None and not any(rejected):
            rejected = None
        if rejected is not None:
            self.ranker._check_wrong(labels, rejected)
        step = 1 if insist or rejected is not None else CHUNK
        for start in range(0, len(texts), step):
            part = slice(start, start + step)
            # A text that is only told what it is not is no example, and its words are not counted.
            example = rejected is None or bool(labels[start]) or not rejected[start]
            rows = Rows(*self.encoder.rows(texts[part], learn=example))
            targets = self._encode(rows, labels[part], count=example)
            lists = NOTHING if rejected is None else self.ranker.labels_.known(rejected[part])
            if rejected is None:
                self.ranker._learn(rows, targets)
            else:
                self.ranker._learn_with_wrong(rows, targets, lists)
            if insist:
                self.ranker._insist(rows, targets, lists)

    def _encode(self, rows: Rows, labels: Sequence[Iterable[Any]], *, count: bool = True) -> Targets:
        """Make the labels of rows that are to be learnt known, and count them."""
        targets = self.ranker.labels_.encode(labels, rows.n_rows, learn=True)
        if count:
            self.ranker.labels_.count(targets)
            self.ranker.n_rows_seen_ += rows.n_rows
        self.ranker.n_features_in_ = self.encoder.n_terms
        self.ranker._form = "lists"
        return targets

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
        width = min(k, max(1, self.n_labels))
        labels, scores = np.full((rows.n_rows, width), -1, np.int32), np.zeros((rows.n_rows, width))
        self.ranker._rank(rows, labels, scores)
        return Ranking(labels, scores, self.ranker.labels_.names)

    def score_rows(self, rows: Rows, numbers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of labels, by number, for each row; NaN for one that gets no vote.

        What candidates weigh beside their votes is left out.
        """
        return self.ranker._scores(rows, numbers)

    def cut(self, text: str) -> list[BandedEntry]:
        """Rank the labels of one text and say which to apply, which to suggest and which to hide."""
        return self.cut_many([text])[0]

    def cut_many(self, texts: Iterable[str]) -> list[list[BandedEntry]]:
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
        right = [set(listed(names)) for names in accepted]
        wrong = None if rejected is None else [set(listed(names)) for names in rejected]
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
        """Explain several labels of one text, which is cut into words only once; see `explain`."""
        numbers = [self._number_of(label) for label in labels]
        rows = Rows(*self.encoder.rows([text]))
        found = [self.explain_row(rows, number) for number in numbers]
        voting = {term for features, _, _ in found for term in features.tolist()}
        spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for span in self.encoder.spans(text, voting):
            spans[span.term].append((span.start, span.stop))
        explained = []
        for number, (features, votes, prior) in zip(numbers, found, strict=True):
            score = prior
            words = [
                WordVote(self.encoder.name(term), vote, spans[term])
                for term, vote in zip(features.tolist(), votes.tolist(), strict=True)
            ]
            for word in words:
                score += word.vote
            explained.append(TextExplanation(self.ranker.labels_.names[number], score, words, prior))
        return explained

    def explain_row(self, row: Rows, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return the terms of a single row that vote for a label, their votes, and the prior of the label."""
        return self.ranker._explain(row, number)

    def _number_of(self, label: Any) -> int:
        try:
            return self.ranker.labels_.id_of(label)
        except KeyError:
            raise ValueError(f"label {label!r} is not known; it must have been learnt before") from None

    def truth(self, labels: Sequence[Iterable[Any]]) -> "sp.csr_array[Any]":
        """Return true labels as an indicator over label numbers; see `Ranker.truth`."""
        return self.ranker.truth([listed(names) for names in labels])

    # -- what it holds -------------------------------------------------------------------------------

    @property
    def label_names(self) -> dict[str, list[str]]:
        """Names that a person reads, by label: the preferred one first, then synonyms."""
        if self._label_names is None:  # read when asked for: there may be more names than a ranking ever shows
            self._label_names = read_label_names(self._saved_names)
        return self._label_names

    @label_names.setter
    def label_names(self, names: Mapping[str, Sequence[str]]) -> None:
        self._label_names = {str(label): list(found) for label, found in names.items()}

    def name_of(self, label: Any) -> str:
        """Return the name that a person reads for a label: the first of its names, or the label itself."""
        names = self.label_names.get(str(label))
        return names[0] if names else str(label)

    @property
    def seed(self) -> int:
        """What orders the rows of `fit`: the ranker's `random_state`, or 0."""
        return int(getattr(self.ranker, "random_state", 0) or 0)

    @property
    def n_rows(self) -> int:
        """Texts learnt."""
        return self.ranker.n_rows_seen_

    @property
    def n_labels(self) -> int:
        """Labels known."""
        return len(self.ranker.labels_)

    @property
    def n_features(self) -> int:
        """Terms known."""
        return self.encoder.n_terms

    @property
    def n_edges(self) -> int:
        """Edges of the index; 0 for a ranker without one."""
        return self.ranker.n_edges_ if isinstance(self.ranker, IndexRanker) else 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the vocabulary and the ranker hold."""
        return self.encoder.vocabulary.nbytes + self.ranker.nbytes_

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """How many texts each label had, by label number."""
        return self.ranker._counts()

    def params(self) -> dict[str, Any]:
        """Return every parameter."""
        ranker = {"ranker": self.ranker.kind, "ranker_params": self.ranker._params()}
        return {**ranker, "language": self.language, "name_weight": self.name_weight, **self.encoder.params()}

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

    # -- keeping -------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, Source]:
        return arrays_of(self)

    def state_hash(self) -> str:
        """Return a hash of what was learnt; see `Ranker.state_hash`."""
        return state_hash(self.kind, self._arrays())

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        content: Mapping[str, Any] | None = None,
        arrays: Mapping[str, Source] | None = None,
    ) -> None:
        """Write a model directory, or replace the model in one; a server puts its own content and arrays beside."""
        own = {"kind": self.kind, "params": self.params(), "form": self.ranker._form if self.n_rows else "lists"}
        write_model(path, {**own, **(content or {})}, {**self._arrays(), **(arrays or {})})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True, **params: Any) -> Self:
        """Load a tagger; parameters of its ranker may be replaced, such as `d_max` by a smaller one."""
        model = read_model(path, verify=verify)
        if model.content.get("kind") != cls.kind:
            raise UnknownFormat(f"{path} holds a {model.content.get('kind')!r}, not a tagger; use abound.load")
        return cls.from_model(model, **params)

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a tagger from a model directory that was read."""
        return restored(cls, model, **params)
