"""The tagger: a text encoder and a ranker."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from abound.calibration import Decision
from abound.calibration.decisions import CONSIDERED, NO_PROBABILITIES
from abound.components.rows import Rows
from abound.errors import NotCalibrated, UnreachablePrecision
from abound.hierarchy import Hierarchy
from abound.hierarchy.links import Chooser, without_parents
from abound.kernels.batch import Batch
from abound.ordinal.bands import BAND_NAMES, Bands
from abound.rankers.ranking import Ranking
from abound.rankers.weighting import Weights, balanced_lists, check_some, learned_rows
from abound.tagger.answers import BandedEntry, Entry, Precedent, TextExplanation, entries_of
from abound.tagger.arguments import (
    as_list,
    check_depth,
    check_wrong_are_known,
    validate_examples,
    validate_labels,
    validate_names,
    validate_targets,
)
from abound.tagger.blending import GivenCodes
from abound.tagger.emptiness import warn_of_empty
from abound.tagger.judging import JudgingTagger
from abound.tagger.label_lists import warn_of_labels
from abound.tagger.naming import LabelsAre, NameResolver
from abound.tagger.pruning import prune
from abound.tagger.training import Training
from abound.tagger.votes import TextVotes
from abound.texts import Text, fields_of

if TYPE_CHECKING:
    import scipy.sparse as sp

    from abound.tagger.evaluation import Evaluation

CHUNK = 4096  # texts to tokenise at once
BANDED = 10  # labels per ranking that are assigned to bands


class Tagger(JudgingTagger):
    """Rank labels for texts, and learn from each correction.

    Parameters
    ----------
    ranker : str
        The kind of ranker; see `abound.rankers.KINDS`.
    ranker_params : dict, optional
        Parameters of the ranker.
    language : str or None
        The language of the texts, such as "en" or "fi". It selects the stemmer, and parts of words for languages with
        many compounds. With "auto", `fit` detects the language from a sample of the texts; whole words are used if
        there is no main language, or if the model only learns a stream. None means whole words.
    name_weight : float
        The weight of a label's name as an example, relative to a text; with 0, names are not learned.
    embeddings : str, VectorEncoder or None
        An encoder of texts for a second opinion by similar texts; see `abound.encoders.open_encoder` for names. Labels
        are then ranked by a blend of words and vectors. With "words", no encoder is needed: `similar` finds texts that
        share words, and rankings do not change.
    **params
        Parameters of the ranker by name, such as `passes=3`. Parameters of `abound.text.TextEncoder`, which override
        those of the language: ngrams, char_ngrams, stem, min_count, weighting, slope, max_terms, run_weight,
        part_weight, form_weight, fields, field_weights, tokenizer.

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
        texts: Iterable[Text],
        labels: Iterable[Any],
        *,
        label_names: Mapping[Any, str | Sequence[str]] | None = None,
        hierarchy: Hierarchy | None = None,
        sample_weight: Any = None,
        labels_are: LabelsAre = "either",
        keep_examples: bool = True,
        vectors: Any = None,
    ) -> Self:
        """Train from scratch, on texts in any order.

        All texts are counted first. Then the ranker makes one or more passes over them, in a random order that depends
        only on its `random_state`. `learn` can continue the training: it updates document frequencies and adds new
        words and labels.

        Parameters
        ----------
        texts : iterable of str, or of mappings from field to str
            Texts may have fields, such as {"title": "Roses", "abstract": "How to grow them."}; see `fields` and
            `field_weights` of `abound.text.TextEncoder`.
        labels : iterable of lists of names, or of names
            The labels of each text; a single name if each text has exactly one label.
        label_names : mapping from label to name or names, optional
            Display names of the labels, the preferred name first; see `learn_names`.
        hierarchy : Hierarchy, optional
            How labels are related; see `abound.hierarchy.read_hierarchy`. It does not change the ranking. It is used by
            `only`, `without` and `keep_parents`, and saved with the model.
        sample_weight : array-like of float, optional
            A weight per text, from 0 to 1,000. The words of a text are counted once. Then the text is learned twice
            for a weight of 2; a fraction scales the update. A text of weight 0 is ignored. The calibration takes each
            text once. Training on Spark takes no weights.
        labels_are : {"either", "ids", "names"}
            Whether labels are given by their ids or by their names in `label_names`; see `learn`.
        keep_examples : bool
            Whether the model may contain texts: up to three short ones as `examples`, which the page of a server shows,
            and, if there are embeddings, the first 200 characters of each text for `similar`.
        vectors : array-like of shape (n_texts, dimensions), optional
            The vectors of the texts, if they are not to be encoded; see `abound.encoders.GivenVectors`. A row of zeros
            or None means that nothing is known about a text but its words.

        Returns
        -------
        self
        """
        lists, form = validate_targets(labels)
        texts, labels = validate_examples(as_list(texts), lists)
        names = validate_names(label_names or {})
        shown = {str(label): given for label, given in names.items()}
        labels = NameResolver(lambda: shown, lambda label: label in names).rows(labels, labels_are)
        weights = self._weights_to_fit(sample_weight, labels)
        warn_of_labels(labels)
        self.renew()
        self.hierarchy = hierarchy
        codes = self.given_codes(vectors, len(texts))
        training = Training(self, names, is_balanced=True, keep_examples=keep_examples)
        training.add(texts, labels, weights, codes)
        training.learn()
        self.held_out = None
        self.ranker.set_columns(self.encoder.n_terms, form)
        return self

    def _weights_to_fit(self, sample_weight: Any, labels: Sequence[Sequence[Any]]) -> Weights | None:
        """Return the weights of all texts, as the ranker of the next training takes them."""
        same_kind = self.ranker.kind == self.settings.ranker
        ranker = self.ranker if same_kind else self.settings.new_ranker()
        weights = ranker.valid_weights(sample_weight, len(labels))
        check_some(weights)
        return weights if ranker.class_weight is None else balanced_lists(labels, weights)

    def learn_names(self, names: Mapping[Any, str | Sequence[str]]) -> None:
        """Learn the names of labels: each name is a short example of its label.

        Labels without examples can then be ranked. A name counts `name_weight` times as much as a text, but not as a
        row.
        """
        all_names = validate_names(names)
        self.label_names.update({str(label): given for label, given in all_names.items()})  # in place: may be many
        self.resolver.update(map(str, all_names))
        self.learn_name_pairs([(label, name) for label, given in all_names.items() for name in given])

    def learn_name_pairs(self, pairs: Sequence[tuple[Any, str]]) -> None:
        """Learn pairs of a label and a name of it as `learn_names` does, without changing the names that are shown."""
        if not self.name_weight:
            return
        for start in range(0, len(pairs), CHUNK):
            part = pairs[start : start + CHUNK]
            rows = Rows(*self.encoder.rows([name for _, name in part], learn=True))
            rows = rows._replace(data=rows.data * self.name_weight)
            self.ranker.learn(self._make_batch(rows, [[label] for label, _ in part], count=False))

    def learn(
        self,
        text: Text,
        labels: Iterable[Any],
        *,
        wrong: Iterable[Any] = (),
        insist: bool = True,
        judge: bool = True,
        sample_weight: float = 1.0,
        labels_are: LabelsAre = "either",
        vector: Any = None,
    ) -> None:
        """Learn one text and its labels, which count from the next ranking on.

        With `insist`, the text is ranked before it is learned: the labels teach the calibration and, if the tagger has
        them, the bands. There is no need to call `feedback`, too.

        Parameters
        ----------
        text : str or mapping from field to str
        labels : iterable of names
            The right labels; new ones are added.
        wrong : iterable of names
            Labels that are known to be wrong. Other labels are not taken as wrong. A label that the tagger does not
            have is an error.
        insist : bool
            Whether to repeat the update until the labels rank first for this text and the wrong ones do not, as a
            person who makes a correction expects. Not all rankers support it. If False, the text counts like any
            training row, and the bands do not change.
        judge : bool
            Whether a text to insist on teaches calibration and bands. If False, that was done before.
        sample_weight : float
            The weight of the text, from 0 to 1,000. With 2, it is learned twice; a fraction scales the update, and
            with 0 the text is ignored.
        labels_are : {"either", "ids", "names"}
            A name in `label_names` that belongs to exactly one label stands for that label; one that belongs to
            several is an error. With "either", a known id is never taken as a name. With "ids", names are not looked
            up. With "names", a name wins over an id.
        vector : array-like of float, optional
            The vector of the text, if it is not to be encoded.
        """
        weights, vectors = None if sample_weight == 1.0 else [sample_weight], None if vector is None else [vector]
        how: dict[str, Any] = {"insist": insist, "judge": judge, "sample_weight": weights, "labels_are": labels_are}
        how["vectors"] = vectors
        self.learn_many([text], [labels], wrong=[wrong], **how)

    def learn_many(
        self,
        texts: Sequence[Text],
        labels: Sequence[Iterable[Any]],
        *,
        wrong: Sequence[Iterable[Any]] | None = None,
        insist: bool = False,
        judge: bool = True,
        sample_weight: Any = None,
        labels_are: LabelsAre = "either",
        vectors: Any = None,
    ) -> None:
        """Learn texts in order; the result is the same as calling `learn` for each text with the same `insist`.

        All inputs are validated before any is learned. `vectors` are those of the texts; see `fit`.
        """
        texts, lists = validate_examples(texts, labels)
        right = self.resolver.rows(lists, labels_are)
        rejected = None if wrong is None else self.resolver.rows(validate_examples(texts, wrong)[1], labels_are)
        if rejected is not None and any(rejected):
            self.ranker.check_wrong(right, rejected)
            check_wrong_are_known(right, rejected, self.ranker.labels_)
        codes, how = self.given_codes(vectors, len(texts)), {"insist": insist, "judge": judge}
        if codes is None:
            self.learn_ids(texts, right, wrong=rejected, sample_weight=sample_weight, **how)
            return
        weights = self.ranker.valid_weights(sample_weight, len(texts))
        for row, (text, code) in enumerate(zip(texts, codes, strict=True)):
            own: dict[str, Any] = {"wrong": None if rejected is None else [rejected[row]], **how}
            own["sample_weight"] = None if weights is None else weights[row : row + 1]
            with self.knowing(text, code) if code is not None else nullcontext():
                self.learn_ids([text], [right[row]], **own)

    def learn_ids(
        self,
        texts: Sequence[Text],
        labels: Sequence[Iterable[Any]],
        *,
        wrong: Sequence[Iterable[Any]] | None = None,
        insist: bool = False,
        judge: bool = True,
        sample_weight: Any = None,
    ) -> None:
        """Learn texts as `learn_many` does, with labels by their ids; wrong labels that are not known are ignored."""
        texts, labels = validate_examples(texts, labels)
        rejected = None if wrong is None else validate_examples(texts, wrong)[1]
        if rejected is not None and not any(rejected):
            rejected = None
        if rejected is not None:
            self.ranker.check_wrong(labels, rejected)
        opinion = self.need_second_opinion()
        if not self.n_rows and not self.n_features and self.encoder.fields is None:
            self.set_fields(dict.fromkeys(fields_of(texts) or (), 1.0) or None)
        codes = None
        if opinion is not None and opinion.votes:
            codes = self._codes_of_many(texts)  # encoders are faster with many texts at once
        step = 1 if insist or rejected is not None or opinion is not None or self._known else CHUNK
        for chosen, weights in learned_rows(self.ranker.valid_weights(sample_weight, len(texts)), len(texts), step):
            # A text with only wrong labels is not an example, and its words are not counted.
            example = rejected is None or bool(labels[chosen[0]]) or not rejected[chosen[0]]
            if insist and judge:
                self._judge(texts[chosen[0]], labels[chosen[0]], rejected[chosen[0]] if rejected else [])
            given = (texts[chosen[0]], labels[chosen[0]], rejected[chosen[0]] if rejected else [])
            if codes is not None:
                self._teach_blend(given, codes[chosen[0]], insist=insist)
            else:
                self._weigh_scores(given)
            rows = Rows(*self.encoder.rows([texts[i] for i in chosen], learn=example))
            batch = self._make_batch(rows, [labels[i] for i in chosen], count=example, weights=weights)
            if rejected is not None:
                wrong_labels = self.ranker.labels_.known([rejected[i] for i in chosen])
                batch = Batch(rows, batch.targets, wrong_labels, weights)
            if insist:
                self.ranker.learn(batch)
                self.ranker.insist(batch)
            else:
                self.ranker.learn_online(batch)
            if opinion is not None:  # words are hashed when they are counted
                code = self.hashed_codes(rows)[0] if codes is None else codes[chosen[0]]
                self._learn_vector(given, code, corrected=insist)

    def similar(self, text: Text, k: int = 3, label: Any = None, *, vector: Any = None) -> list[Precedent]:
        """Return the learned texts that are most similar to a text, with their labels.

        Parameters
        ----------
        text : str or mapping
        k : int
            Maximum number of texts.
        label : name, optional
            Return only texts with this label.
        vector : array-like of float, optional
            The vector of the text, if it is not to be encoded.

        Returns
        -------
        list of Precedent
            The most similar text first, of those with a similarity of at least 0.2. Empty if the tagger has no
            embeddings, or was fitted with `keep_examples=False`.
        """
        wanted = None if label is None else self._number_of(label).__eq__
        found = self.similar_texts(text, k, wanted, self._given_code(vector))
        names = self.ranker.labels_.names
        return [Precedent(one.text, [names[label] for label in one.labels], one.similarity) for one in found]

    def _given_code(self, vector: Any) -> GivenCodes | None:
        return self.given_codes(None if vector is None else [vector], 1)

    def _make_batch(
        self,
        rows: Rows,
        labels: Sequence[Iterable[Any]],
        *,
        count: bool = True,
        weights: Weights | None = None,
    ) -> Batch:
        """Register and count the labels of rows to learn, and return the batch."""
        form = self.ranker.form if self.n_rows else "lists"  # a correction does not change what `predict` returns
        return self.ranker.make_batch(rows, labels, form, self.encoder.n_terms, count=count, weights=weights)

    # -- ranking -------------------------------------------------------------------------------------

    def rank(
        self,
        text: Text,
        k: int = 10,
        *,
        only: Any = None,
        without: Any = None,
        keep_parents: bool = True,
        vector: Any = None,
    ) -> list[Entry]:
        """Rank the best labels of one text.

        Parameters
        ----------
        text : str or mapping
        k : int
            Maximum number of labels.
        only, without : str or iterable of str, optional
            Labels to rank, or not to rank. Each is a label or its name, with all labels below it in the hierarchy; "="
            and a label, for this label alone; or a scheme. The k best labels that are left keep the scores and
            probabilities that they have among all labels.
        keep_parents : bool
            Whether a label may be ranked together with one above it in the hierarchy. If False, only the better of them
            is returned.
        vector : array-like of float, optional
            The vector of the text, if it is not to be encoded.

        Returns
        -------
        list of Entry
            At most k, best first. A text without known words has none and causes a warning (`EmptyRanking`).
        """
        vectors = None if vector is None else [vector]
        return self._ranked([text], k, self.chooser(only, without, keep_parents=keep_parents), vectors)[0]

    def rank_many(
        self,
        texts: Iterable[Text],
        k: int = 10,
        *,
        only: Any = None,
        without: Any = None,
        keep_parents: bool = True,
        vectors: Any = None,
    ) -> list[list[Entry]]:
        """Rank the best labels of each text; see `rank`. One warning (`EmptyRanking`) counts the empty rankings.

        `vectors` are those of the texts; see `fit`.
        """
        return self._ranked(list(texts), k, self.chooser(only, without, keep_parents=keep_parents), vectors)

    def _ranked(self, texts: list[Text], k: int, chooser: Chooser, vectors: Any) -> list[list[Entry]]:
        rankings = entries_of(self.rank_arrays(texts, k, chooser, vectors))
        warn_of_empty(self, texts, rankings)
        return rankings

    def rank_arrays(
        self, texts: Iterable[Text], k: int = 10, chooser: Chooser | None = None, vectors: Any = None
    ) -> Ranking:
        """Rank texts and return arrays, as the metrics need them."""
        given = list(texts)
        return self.rank_rows(self.rows_of(given, self.given_codes(vectors, len(given))), k, chooser)

    def score_rows(self, rows: Rows, numbers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of labels, by number, for each row; NaN for a label without votes.

        The second stage is left out.
        """
        return self.ranker.score_rows(rows, numbers)

    def assign(
        self,
        text: Text,
        *,
        threshold: float | None = None,
        precision: float | None = None,
        only: Any = None,
        without: Any = None,
        keep_parents: bool = False,
        vector: Any = None,
    ) -> list[Entry]:
        """Return the labels to apply to one text.

        Without a parameter, these are the labels with the best expected F1 for this text.

        Parameters
        ----------
        text : str or mapping
        threshold : float, optional
            Return labels with at least this probability.
        precision : float, optional
            Return as many labels as possible so that this share of them is right, over all texts. If that cannot be
            reached, there is a warning (`UnreachablePrecision`) and no label.
        only, without : str or iterable of str, optional
            Labels, branches or schemes to choose from; see `rank`.
        keep_parents : bool
            Whether to return a label together with one above it in the hierarchy. By default, only the better of them
            is returned.
        vector : array-like of float, optional
            The vector of the text, if it is not to be encoded.
        """
        vectors = None if vector is None else [vector]
        chosen = {"only": only, "without": without, "keep_parents": keep_parents, "vectors": vectors}
        return self.assign_many([text], threshold=threshold, precision=precision, **chosen)[0]

    def assign_many(
        self,
        texts: Iterable[Text],
        *,
        threshold: float | None = None,
        precision: float | None = None,
        only: Any = None,
        without: Any = None,
        keep_parents: bool = False,
        vectors: Any = None,
    ) -> list[list[Entry]]:
        """Return the labels to apply to each text; see `assign`, and `fit` for `vectors`."""
        decision, calibration = Decision(threshold, precision), self.calibration
        ranking = self.rank_arrays(texts, CONSIDERED, self.chooser(only, without), vectors)
        if ranking.probabilities is None:
            raise NotCalibrated(NO_PROBABILITIES)
        if (unreachable := decision.warning(calibration)) is not None:
            warnings.warn(unreachable, UnreachablePrecision, stacklevel=2)
        assigned = decision.assigned(ranking.probabilities, calibration)
        if not keep_parents:
            assigned = without_parents(ranking.indices, assigned, self.links)
        return [
            [entry for entry, is_assigned in zip(entries, row, strict=False) if is_assigned]
            for entries, row in zip(entries_of(ranking), assigned.tolist(), strict=True)
        ]

    def rank_with_bands(self, text: str) -> list[BandedEntry]:
        """Rank the labels of one text and assign each to a band: apply, suggest or hide."""
        return self.rank_with_bands_many([text])[0]

    def rank_with_bands_many(self, texts: Iterable[Text]) -> list[list[BandedEntry]]:
        """Rank the labels of each text and assign them to the bands that were learned from `feedback`."""
        if self.bands is None:
            raise ValueError("the tagger has no bands yet; call feedback on ranked labels first")
        ranking = self.rank_arrays(texts, BANDED)
        bands = self.bands.cut(ranking.indices, ranking.scores).tolist()
        likely = self.bands.probabilities(ranking.indices, ranking.scores).tolist()
        return [
            [
                BandedEntry(ranking.names[label], score, place, probability, BAND_NAMES[band])
                for place, (label, score, band, probability) in enumerate(zip(*row, strict=True), 1)
                if label >= 0
            ]
            for row in zip(ranking.indices.tolist(), ranking.scores.tolist(), bands, likely, strict=True)
        ]

    def feedback(self, text: Text, accepted: Iterable[Any], rejected: Iterable[Any] | None = None) -> None:
        """Update the bands with the labels that a person accepted and rejected for a text.

        The ranker is not updated. To update it, too, call only `learn`, which also teaches the bands. The first
        feedback creates the bands, unless `bands` was set before, to choose target precisions.

        Parameters
        ----------
        accepted : iterable of names
        rejected : iterable of names, optional
            By default, all shown labels that were not accepted.
        """
        self.feedback_many([text], [accepted], None if rejected is None else [rejected])

    def feedback_many(
        self,
        texts: Sequence[Text],
        accepted: Sequence[Iterable[Any]],
        rejected: Sequence[Iterable[Any]] | None = None,
    ) -> None:
        """Update the bands with several texts, in order; see `feedback`."""
        right = [set(names) for names in self.shown_labels([validate_labels(names) for names in accepted])]
        wrong = None
        if rejected is not None:
            wrong = [set(names) for names in self.shown_labels([validate_labels(names) for names in rejected])]
        if len(right) != len(texts) or (wrong is not None and len(wrong) != len(texts)):
            raise ValueError(f"give one list of accepted and of rejected labels for each of the {len(texts)} texts")
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

    def explain(self, text: Text, label: Any) -> TextExplanation:
        """Return the words of a text that vote for a label, with their votes and positions.

        The score is the bias (`prior`) plus the votes, added in order. Only models with few labels have a bias. If the
        text has fields, the positions say in which.
        """
        return self.explain_many(text, [label])[0]

    def explain_many(self, text: Text, labels: Iterable[Any]) -> list[TextExplanation]:
        """Explain several labels of one text, which is tokenised once; see `explain`."""
        return list(self.votes(text, labels).explanations())

    def votes(self, text: Text, labels: Iterable[Any]) -> TextVotes:
        """Compute the votes of one text for several labels. Their words can be looked up later."""
        return TextVotes(self.encoder, self.ranker, text, [self._number_of(label) for label in labels])

    def explain_row(self, row: Rows, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return the terms of a single row that vote for a label, their votes, and the bias of the label."""
        return self.ranker.explain_row(row, number)

    def _number_of(self, label: Any) -> int:
        try:
            return self.ranker.labels_.id_of(self.resolver.resolve(label))
        except KeyError:
            raise ValueError(f"label {label!r} is unknown; learn it first") from None

    def truth(self, labels: Sequence[Iterable[Any]]) -> "sp.csr_array[Any]":
        """Return true labels as an indicator matrix over label numbers; see `Ranker.truth`."""
        return self.ranker.truth(self.shown_labels([validate_labels(names) for names in labels]))

    def evaluate(
        self,
        texts: Iterable[Text],
        labels: Iterable[Iterable[Any]],
        *,
        k: int = 100,
        only: Any = None,
        without: Any = None,
        vectors: Any = None,
    ) -> "Evaluation":
        """Rank labelled texts, and measure the rankings, the probabilities and each label.

        Parameters
        ----------
        texts : iterable of str, or of mappings from field to str
            Texts that the tagger has not learned.
        labels : iterable of lists of names
            Their true labels. Texts without any are left out.
        k : int
            Number of ranks for metrics without a number, such as MRR.
        only, without : str or iterable of str, optional
            Labels to rank and to compare with; see `rank`. Other labels of the texts are left out, too.
        vectors : array-like of shape (n_texts, dimensions), optional
            The vectors of the texts, if they are not to be encoded; see `fit`.

        Examples
        --------
        >>> from abound import Tagger
        >>> tagger = Tagger().fit(["a red apple", "a fast car"] * 30, [["fruit"], ["vehicle"]] * 30)
        >>> evaluation = tagger.evaluate(["apple pie", "car race", "a car and an apple"], [["fruit"], ["sport"], []])
        >>> evaluation.metrics(["P@1"])["P@1"].value
        0.5
        >>> [(row.label, row.support, row.f1) for row in evaluation.per_label()]
        [('sport', 1, 0.0), ('vehicle', 0, 0.0), ('fruit', 1, 1.0)]
        """
        from abound.tagger.evaluation import evaluate_batches  # the metrics need scipy, which takes long to import

        check_depth(k)
        given, true = validate_examples(as_list(texts), as_list(labels))
        codes = self.given_codes(vectors, len(given))
        parts = (slice(start, start + CHUNK) for start in range(0, len(given), CHUNK))
        batches = ((given[part], true[part], None if codes is None else codes[part]) for part in parts)
        return evaluate_batches(self, batches, k, self.chooser(only, without))

    # -- memory --------------------------------------------------------------------------------------

    def prune(self, max_bytes: int) -> dict[str, int]:
        """Shrink the tagger to at most `max_bytes` by dropping the rarest terms.

        Spare capacity is released first. If that is not enough, the rarest terms are dropped until a good part of the
        budget is free, so that the next call is not needed soon. Terms of equal count are dropped together, so that an
        n-gram is never kept without its words. Pruning temporarily needs about as much memory again as is left.

        Returns
        -------
        dict
            The number of terms and edges dropped, and the lowest count left.
        """
        return prune(self, max_bytes)
