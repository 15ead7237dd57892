"""Fit a tagger: count all texts, then train on them in passes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows, Targets, select
from abound.kernels.batch import Batch
from abound.ordinal.bands import Bands
from abound.rankers.weighting import Weights
from abound.tagger.arguments import validate_examples, validate_names
from abound.tagger.blending import GivenCodes
from abound.tagger.examples import Examples
from abound.tagger.opinion_rows import OpinionRows
from abound.tagger.parts import TaggerParts
from abound.tagger.pruning import forget, rarest
from abound.tagger.spool import Spool, new_numbers
from abound.text.fields import balanced_weights
from abound.text.language import DetectedLanguage, detect
from abound.texts import Text, fields_of, joined, n_characters
from abound.training.source import RowSource

TESTED_PER_CHUNK = 100  # rows per chunk of the first pass that are ranked before they are learned
PROGRESSIVE_ROWS = 1_000  # last tested rows in the progressive P@1
CHUNK = 4096  # texts to count at once
# Text settings are chosen by the first rows, up to these limits.
HELD_ROWS, HELD_CHARACTERS = 20_000, 20_000_000
HeldRow: TypeAlias = tuple[Text, list[Any], float, NDArray[np.int8] | None]
Watch: TypeAlias = Callable[[int, float], None]
WatchTrial: TypeAlias = Callable[[int, int], None]


class Training(RowSource):
    """One fit of a tagger, from the first text to the last pass.

    Parameters
    ----------
    tagger : Tagger
        The tagger to fit; it is reset.
    label_names : mapping from label to name or names, optional
    folder : path, optional
        Directory of a temporary file for counted rows; by default they are kept in memory. The model is the same.
    max_bytes : int, optional
        Limit for the size of the tagger. The second stage is dropped first, then the rarest terms.
    is_balanced : bool
        Whether the weights of the rows follow the ranker's `class_weight`.
    keep_examples : bool
        Whether the model may keep texts: `examples`, and the beginnings of texts if there is a second opinion.

    Attributes
    ----------
    hits : deque of bool
        Whether the best label was right, for the last rows that were ranked before they were learned.
    detected : DetectedLanguage or None
        The language detected from a sample of the texts, if the tagger detects it.
    dropped : dict
        The number of terms and edges dropped to keep `max_bytes`.
    """

    def __init__(
        self,
        tagger: TaggerParts,
        label_names: Mapping[Any, str | Sequence[str]] | None = None,
        *,
        folder: Path | None = None,
        max_bytes: int | None = None,
        is_balanced: bool = False,
        keep_examples: bool = True,
    ) -> None:
        if tagger.ranker.class_weight is not None and not is_balanced:
            raise ValueError("class_weight='balanced' needs all labels in memory: use Tagger.fit, or weights of rows")
        names = validate_names(label_names or {})
        self.hits: deque[bool] = deque(maxlen=PROGRESSIVE_ROWS)
        self.dropped = {"terms": 0, "edges": 0}
        self.second_stage_dropped = False
        self.detected: DetectedLanguage | None = None
        self._tagger, self._max_bytes, self._folder = tagger, max_bytes, folder
        self._watch: Watch = lambda _, __: None
        self._watch_trial: WatchTrial = lambda _, __: None
        self._n_learned = 0
        self._examples, self._keeps_examples = Examples(), keep_examples
        tagger.ranker.reset()
        tagger.set_fields(None)
        self._has_begun = False
        tagger.label_names = {str(label): given for label, given in names.items()}
        if tagger.bands is not None:  # labels are renumbered, so the state by label is invalid
            tagger.bands = Bands(tagger.bands.apply, tagger.bands.suggest)
        self._named = [(name, label) for label, given in names.items() for name in given] if tagger.name_weight else []
        # The first rows, until the language is detected and the fields of texts have weights.
        self._held: list[HeldRow] | None = [] if tagger.detects_language else None
        self._n_held_characters = 0
        self._opinion = OpinionRows(tagger, keeps_texts=keep_examples)
        self.watched_ranks = self._opinion.watched_ranks
        self._spool = self._begin_counting()

    def _begin_counting(self) -> Spool:
        tagger = self._tagger
        tagger.encoder.begin_counting()
        self._names = tagger.encoder.count([name for name, _ in self._named])
        tagger.ranker.labels_.add(label for _, label in self._named)
        return Spool(tagger.encoder, tagger.seed, self._folder)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows added."""
        return self._spool.n_rows

    @property
    def progressive_p1(self) -> float | None:
        """The share of the last tested rows whose best label was right before they were learned."""
        return sum(self.hits) / len(self.hits) if self.hits else None

    # -- counting ----------------------------------------------------------------------------------

    def add(
        self,
        texts: Sequence[Text],
        labels: Sequence[Sequence[Any]],
        sample_weight: Any = None,
        codes: GivenCodes | None = None,
    ) -> None:
        """Count texts and store them for the passes; those of weight 0 are ignored. Vectors may be given with them."""
        texts, names = validate_examples(texts, labels)
        if not self._has_begun and self._held is None and fields_of(texts) is not None:
            self._held = []
        self._has_begun = True
        if self._examples is not None:
            self._examples.add(texts)
        weights = self._tagger.ranker.valid_weights(sample_weight, len(texts))
        if weights is not None and not weights.all():
            kept: list[int] = np.flatnonzero(weights).tolist()
            texts, names, weights = [texts[i] for i in kept], [names[i] for i in kept], weights[kept]
            codes = None if codes is None else [codes[i] for i in kept]
        if self._held is not None:
            n_held = self._hold(texts, names, weights, codes)
            if n_held == len(texts):
                return
            self._detect()
            texts, names = texts[n_held:], names[n_held:]
            weights = None if weights is None else weights[n_held:]
            codes = None if codes is None else codes[n_held:]
        self._count(texts, names, weights, codes)

    def finish_counting(self) -> None:
        """Count the rows that were held back; no more rows will follow."""
        if self._held is not None:
            self._detect()

    def _hold(
        self, texts: list[Text], labels: list[list[Any]], weights: Weights | None, codes: GivenCodes | None
    ) -> int:
        """Hold rows back until there are enough to choose text settings; return how many were held back."""
        assert self._held is not None
        given = repeat(1.0) if weights is None else weights.tolist()
        for number, row in enumerate(zip(texts, labels, given, repeat(None) if codes is None else codes, strict=False)):
            if _is_enough(len(self._held), self._n_held_characters):
                return number
            self._held.append(row)
            self._n_held_characters += n_characters(row[0])
        return len(texts)

    def _detect(self) -> None:
        """Choose the text settings by the language and the fields of the rows that were held back, and count these."""
        held, self._held = self._held or [], None
        texts, weights = [row[0] for row in held], np.array([row[2] for row in held])
        fields = self._tagger.encoder.fields or fields_of(texts)
        if fields is not None:
            self._tagger.set_fields(balanced_weights(texts, fields))
        if self._tagger.detects_language:
            self.detected = detect(map(joined, texts), self._tagger.seed)
            self._tagger.set_language(self.detected.language)
        self._spool.close()
        self._spool = self._begin_counting()
        labels, codes = [row[1] for row in held], [row[3] for row in held]
        self._count(texts, labels, None if np.all(weights == 1.0) else weights, codes)

    def _count(
        self, texts: list[Text], labels: list[list[Any]], weights: Weights | None, codes: GivenCodes | None
    ) -> None:
        ranker = self._tagger.ranker
        for start in range(0, len(texts), CHUNK):
            part = slice(start, start + CHUNK)
            counted = self._tagger.encoder.count(texts[part])
            targets = ranker.labels_.encode(labels[part], len(counted[0]) - 1, learn=True)
            chosen = None if weights is None else weights[part]
            ranker.count(targets, chosen)
            self._spool.add(counted, targets, chosen)
            self._opinion.add(texts[part], targets, None if codes is None else codes[part])
            self._prune()

    # -- training ----------------------------------------------------------------------------------

    def learn(self, watch: Watch = lambda _, __: None, watch_trial: WatchTrial = lambda _, __: None) -> None:
        """Train on all texts added.

        `watch` is called with the number of learned rows and their share, and `watch_trial` with the number of a trial
        and the number of trials, if few labels are tried in several ways before. After the last trial, its number is 0.
        """
        self.finish_counting()
        self._tagger.examples = self._examples.chosen() if self._keeps_examples else ()
        tagger, ranker = self._tagger, self._tagger.ranker
        self._watch, self._watch_trial = watch, watch_trial
        ranker.set_columns(tagger.encoder.n_terms, "lists")
        self._spool.n_labels = len(ranker.labels_)
        self._spool.flush()
        ranker.learn_all(self, self._name_rows())
        self._opinion.fit(self._named, self._spool.parts(0, self.n_rows))
        self._prune()
        self._spool.close()

    def _name_rows(self) -> Batch | None:
        """Return the names of labels as rows; a name counts `name_weight` times as much as a text."""
        if not self._named:
            return None
        rows = Rows(*self._tagger.encoder.weigh(self._names))
        rows = rows._replace(data=rows.data * self._tagger.name_weight)
        labels = self._tagger.ranker.labels_
        ids = np.array([labels.id_of(label) for _, label in self._named], np.int32)
        return Batch(rows, Targets(np.arange(len(ids) + 1, dtype=np.int64), ids, len(labels)))

    def parts(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield rows in batches; see `RowSource`."""
        for part in self._spool.parts(start, stop):
            self._test(part)
            yield part
            self._learned(part)

    def unwatched(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield rows without counting them as learned; see `RowSource`."""
        return self._spool.parts(start, stop)

    def n_copies(self, start: int, stop: int) -> int:
        """Return how many rows they are if each is repeated by its weight; see `RowSource`."""
        return self._spool.n_copies(start, stop)

    def unseen(self, start: int, stop: int) -> Batch:
        """Return rows as they would be if they had not been counted; see `RowSource`."""
        return self._spool.unseen(start, stop)

    def shuffled(self, start: int, stop: int, random: np.random.Generator) -> Iterator[Batch]:
        """Yield rows in another order; see `RowSource`."""
        for part in self._spool.shuffled(start, stop, random):
            yield part
            self._learned(part)

    def watch_ranking(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Take the rankings of the next held-out rows; see `RowSource`."""
        self._opinion.watch(labels, scores)

    def watch_trial(self, number: int, n_trials: int) -> None:
        """Report a trial that begins, or the end of the trials; see `RowSource`."""
        self._watch_trial(number, n_trials)

    def whole(self) -> Batch:
        """Return all rows at once."""
        return self._spool.whole()

    def _learned(self, part: Batch) -> None:
        self._n_learned += part.n_rows
        self._watch(self._n_learned, self._n_learned / (self._rows_per_pass * (self._tagger.ranker.passes_ or 1)))
        if not self._tagger.ranker.n_shards > 1:
            self._prune()

    @property
    def _rows_per_pass(self) -> int:
        return self.n_rows - self._tagger.ranker.plan(self.n_rows).held_out

    def _test(self, part: Batch) -> None:
        """Rank some rows of the first pass before they are learned."""
        ranker = self._tagger.ranker
        if ranker.n_shards > 1 or not 0 < self._n_learned < self._rows_per_pass:
            return
        labelled = np.flatnonzero(np.diff(part.targets.indptr))
        tested = labelled[:: -(-len(labelled) // TESTED_PER_CHUNK)] if len(labelled) else labelled
        chosen = select(part, tested)
        targets = chosen.targets
        for row, label in enumerate(ranker.rank_rows(chosen.rows, 1).indices[:, 0].tolist()):
            self.hits.append(label in targets.ids[targets.indptr[row] : targets.indptr[row + 1]])

    def report(self) -> dict[str, Any]:
        """Return the language, the weights of fields if any, the number of passes, and if there is a second stage."""
        ranker = self._tagger.ranker
        passes, second_stage = ranker.passes_ or 1, ranker.has_second_stage
        encoder = self._tagger.encoder
        fields = {"fields": {name: encoder.weight_of_field(name) for name in encoder.fields}} if encoder.fields else {}
        return {"language": self._tagger.language, **fields, "passes": passes, "second_stage": second_stage}

    # -- memory ------------------------------------------------------------------------------------

    def _prune(self) -> None:
        """Keep the tagger below its limit, and apply the new term numbers to the remaining rows."""
        tagger, limit = self._tagger, self._max_bytes
        if limit is None or tagger.nbytes <= limit:
            return
        if tagger.ranker.drop_second_stage():
            self.second_stage_dropped = True
        wanted = rarest(tagger, limit)
        if wanted is None:
            return
        terms, edges = tagger.n_features, tagger.n_edges
        forget(tagger, wanted)
        self.dropped["terms"] += terms - tagger.n_features
        self.dropped["edges"] += edges - tagger.n_edges
        if not wanted.all():
            numbers = new_numbers(wanted)
            self._spool.renumber(numbers)
            self._names = (self._names[0], numbers[self._names[1]], self._names[2])


def _is_enough(n_rows: int, n_characters: int) -> bool:
    return n_rows >= HELD_ROWS or n_characters >= HELD_CHARACTERS


def language_of(texts: Iterable[Text], seed: int) -> DetectedLanguage:
    """Detect the language of texts from the first ones, as many as a training holds back."""
    held: list[str] = []
    n_held = 0
    for text in texts:
        if _is_enough(len(held), n_held):
            break
        held.append(joined(text))
        n_held += len(held[-1])
    return detect(held, seed)
