"""Turn texts into weighted sparse rows, with a growing vocabulary and document frequencies."""

import codecs
import warnings
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from abound.errors import FieldsWarning
from abound.kernels.text import add_counts, text_counts, text_rows, weighted_rows
from abound.kernels.vocabulary import TextSettings, Vocabulary
from abound.kernels.words import UNIT_NGRAM, terms_of
from abound.text.words import KINDS, Tokenizer, join_words, original_offsets, prepare, words_of
from abound.texts import FieldSpan, Text, check_text, joined, n_characters

LONGEST_NGRAM = 8
PART_BYTES = 1 << 20  # bytes of names to validate or to write at once
PART_TERMS = 1 << 16  # terms to write at once
MOST_FIELDS = 16
WEIGHT_STEP = 1 / 16  # the weights of fields are rounded to multiples of it
HEAVIEST_FIELD = 100.0
MAX_TEXTS = 1 << 53  # counted texts, and counted terms
SIGHTINGS_BYTES = 1 << 24  # counters for terms below min_count; terms that share a counter are admitted early
ENDLESS = 2**63 - 1  # terms


TermCounts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]  # indptr, terms, occurrences


Prepared: TypeAlias = str | tuple[str, ...]  # of a text with fields: one string per field of the encoder


class Span(NamedTuple):
    """A term of a text and its position."""

    term: int
    start: int
    stop: int


@dataclass(eq=False, repr=False, kw_only=True)
class TextEncoder:
    """Turn texts into sparse rows over terms, which are numbered when they are first seen.

    Parameters
    ----------
    ngrams : int
        The longest word n-gram.
    char_ngrams : (int, int) or None
        Shortest and longest character n-gram of a word; useful for compounds and misspellings.
    stem : str or None
        A language of Snowball's stemmers, such as "english".
    min_count : int
        The number of texts that must contain a term before it is used.
    weighting : {"tfidf", "pivoted"}
        Sublinear tf-idf with unit length, or the pivoted unique normalisation of Singhal et al. as in SIGIR 2002.
    slope : float
        The slope of the pivoted normalisation.
    max_terms : int or None
        The maximum number of terms.
    run_weight : float
        The weight of an n-gram of two or more words, relative to a word.
    part_weight : float
        The weight of a character n-gram, relative to a word.
    form_weight : float
        With stems, the weight of a word as it is written, relative to its stem, if the two differ; 0 leaves it out.
    fields : sequence of str or None
        The fields of texts that are mappings from field to string. Word n-grams do not cross fields. A missing field is
        empty, and others are ignored with a warning. None means texts without fields.
    field_weights : mapping from field to float or None
        How often an occurrence in a field counts, up to 100, in steps of 1/16; 1 by default, and 0 ignores the field.
        `Tagger.fit` gives short fields more weight; see `abound.text.fields.balanced_weights`. The words of a text that
        is a string count once.
    tokenizer : {"unicode", "alphanumeric"}
        How texts are split. "unicode": words with their marks, characters of scripts without spaces and their n-grams,
        symbols. "alphanumeric": runs of letters and digits only, as in models of abound before format version 4.
    """

    ngrams: int = 2
    char_ngrams: tuple[int, int] | None = None
    stem: str | None = None
    min_count: int = 1
    weighting: Literal["tfidf", "pivoted"] = "tfidf"
    slope: float = 0.3
    max_terms: int | None = None
    run_weight: float = 1.0
    part_weight: float = 1.0
    form_weight: float = 0.0
    fields: tuple[str, ...] | None = None
    field_weights: Mapping[str, float] | None = None
    tokenizer: Tokenizer = "unicode"

    def __post_init__(self) -> None:
        if isinstance(self.fields, list):
            self.fields = tuple(self.fields)
        self._warned: set[str] = set()  # fields of texts that the encoder does not have
        self.char_ngrams = cast(tuple[int, int], tuple(self.char_ngrams)) if self.char_ngrams else None
        self._check()
        self._stems: Mapping[str, str] | None = None
        if self.stem is not None:
            from abound.text.stemming import Stems

            self._stems = Stems(self.stem)
        self.reset()

    def _check(self) -> None:
        weights = [
            (name, low, 1000.0) for name, low in (("run_weight", 0.001), ("part_weight", 0.001), ("form_weight", 0.0))
        ]
        for name, low, high in (("ngrams", 1, LONGEST_NGRAM), ("min_count", 1, 255), ("slope", 0.0, 1.0), *weights):
            value = getattr(self, name)
            kinds = (int,) if isinstance(low, int) else (int, float)
            if not isinstance(value, kinds) or not low <= value <= high:
                raise ValueError(f"{name} must be between {low} and {high}, got {value!r}")
        lengths = self.char_ngrams or (1, 1)
        if [type(n) for n in lengths] != [int, int] or not 1 <= lengths[0] <= lengths[1] <= 20:
            raise ValueError(f"char_ngrams must be two lengths from 1 to 20, the shorter first, got {self.char_ngrams}")
        if self.weighting not in ("tfidf", "pivoted"):
            raise ValueError(f"weighting must be 'tfidf' or 'pivoted', got {self.weighting!r}")
        if self.tokenizer not in KINDS:
            raise ValueError(f"tokenizer must be 'unicode' or 'alphanumeric', got {self.tokenizer!r}")
        if self.max_terms is not None and (type(self.max_terms) is not int or not 1 <= self.max_terms < 1 << 62):
            raise ValueError(f"max_terms must be a whole number of at least 1, got {self.max_terms}")
        self._check_fields()

    def _check_fields(self) -> None:
        names, weights = self.fields, self.field_weights
        if names is not None:
            valid = type(names) is tuple and all(isinstance(name, str) and name for name in names)
            if not valid or not 1 <= len(names) <= MOST_FIELDS or len(set(names)) < len(names):
                raise ValueError(f"fields must be 1 to {MOST_FIELDS} different names, got {names!r}")
        if weights is None:
            return
        if not isinstance(weights, Mapping):
            raise ValueError(f"field_weights must be a mapping from field to weight, got {weights!r}")
        for name, weight in weights.items():
            if names is not None and name not in names:
                raise ValueError(f"there is a weight for the field {name!r}, but the fields are {', '.join(names)}")
            number = isinstance(weight, int | float)
            if not number or not (weight == 0 or WEIGHT_STEP <= weight <= HEAVIEST_FIELD):
                words = f"0, or between {WEIGHT_STEP} and {HEAVIEST_FIELD:.0f}"
                raise ValueError(f"the weight of field {name!r} must be {words}, got {weight!r}")

    def params(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def weight_of_field(self, name: str) -> float:
        """Return the weight of a field."""
        return float((self.field_weights or {}).get(name, 1.0))

    def reset(self) -> None:
        """Forget all terms."""
        self.counted = False
        self.vocabulary = Vocabulary(np.zeros(SIGHTINGS_BYTES, np.uint8) if self.min_count > 1 else None)

    def _settings(self, *, counts_all: bool = False) -> TextSettings:
        low, high = self.char_ngrams or (0, 0)
        settings = TextSettings(
            ngrams=self.ngrams,
            char_low=low,
            char_high=high,
            min_count=1 if counts_all else self.min_count,
            pivoted=self.weighting == "pivoted",
            slope=self.slope,
            max_terms=ENDLESS if self.max_terms is None or counts_all else self.max_terms,
            counted=self.counted,
            kinds=KINDS[self.tokenizer](),
            stems=self._stems,
        )
        settings.run_weight, settings.part_weight = self.run_weight, self.part_weight
        settings.form_weight = self.form_weight
        if self.fields is not None:
            settings.set_field_weights(list(map(self.weight_of_field, self.fields)))
        return settings

    def _prepared(self, texts: Sequence[Text]) -> list[Prepared]:
        # The common case is inlined: a function call per text is measurable.
        return [text.lower() if type(text) is str and text.isascii() else self._prepare(text) for text in texts]

    def _prepare(self, text: Text) -> Prepared:
        if isinstance(text, str) or not isinstance(text, Mapping):
            return prepare(text, self.tokenizer)
        check_text(text)
        if self.fields is None:
            self._warn("*", "a text has fields, but the model was fitted without: the fields are joined")
            return prepare(joined(text), self.tokenizer)
        for name in text:
            if name not in self.fields:
                self._warn(name, f"the field {name!r} is ignored; the model has the fields {', '.join(self.fields)}")
        return tuple(
            prepare(text.get(name, ""), self.tokenizer) if self.weight_of_field(name) else "" for name in self.fields
        )

    def _warn(self, name: str, words: str) -> None:
        if name not in self._warned:  # once per encoder, not per text
            self._warned.add(name)
            warnings.warn(words, FieldsWarning, stacklevel=5)

    def rows(
        self, texts: Sequence[Text], *, learn: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the three arrays of a CSR matrix. With `learn`, texts are counted first and add new terms."""
        return text_rows(self.vocabulary, self._prepared(texts), self._settings(), learn)

    def count(self, texts: Sequence[Text]) -> TermCounts:
        """Count texts, and add new terms. `weigh` turns the result into rows once all texts are counted."""
        return text_counts(self.vocabulary, self._prepared(texts), self._settings())

    def weigh(self, counted: TermCounts) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the rows of counted texts, weighted with the current document frequencies."""
        return weighted_rows(self.vocabulary, self._settings(), *counted)

    def weigh_unseen(self, counted: TermCounts) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the rows of counted texts as they would be if these texts had not been counted.

        Words that occur in no other text are left out, as those of a new text would be.
        """
        indptr, terms, _ = counted
        add_counts(self.vocabulary, indptr, terms, -1)
        try:
            return self.weigh(counted)
        finally:
            add_counts(self.vocabulary, indptr, terms, 1)

    def count_known(self, texts: Sequence[Text]) -> TermCounts:
        """Return the terms of texts that were counted before, as `count` did; they are not counted again."""
        counted = self.count(texts)
        add_counts(self.vocabulary, counted[0], counted[1], -1)
        return counted

    def begin_counting(self) -> None:
        """Forget all terms, and prepare to count all texts before any is weighted.

        All terms are kept with their exact counts, and `min_count` leaves rare terms out of the rows. Without this
        call, as in a stream, terms below `min_count` share small counters by hash.
        """
        self.counted = True
        self.vocabulary = Vocabulary()

    def words(self, text: Text) -> list[str]:
        """Return the words of a text in their normal form, known or not."""
        return words_of(prepare(joined(text), self.tokenizer), self.tokenizer)

    def spans(self, text: str) -> list[Span]:
        """Return every known term of a text with its position. A stem has the position of its word."""
        origin = original_offsets(text, self.tokenizer)
        matches = terms_of(self.vocabulary, prepare(text, self.tokenizer), self._settings())
        return [Span(term, origin[start], origin[stop - 1] + 1) for term, start, stop in matches]

    def positions(
        self, text: Text, terms: Container[int]
    ) -> dict[int, list[tuple[int, int]]] | dict[int, list[FieldSpan]]:
        """Return where some terms occur in a text, by term; see `spans`, which takes longer.

        Of a text with fields, the positions say in which field they are.
        """
        prepared = self._prepare(text)
        matches = terms_of(self.vocabulary, prepared, self._settings())
        if isinstance(prepared, tuple) and self.fields is not None:
            return self._field_positions(text, prepared, [match for match in matches if match[0] in terms])
        origin, positions = original_offsets(joined(text), self.tokenizer), defaultdict(list)
        for term, start, stop in matches:
            if term in terms:
                positions[term].append((origin[start], origin[stop - 1] + 1))
        return positions

    def _field_positions(
        self, text: Text, prepared: tuple[str, ...], matches: list[tuple[int, int, int]]
    ) -> dict[int, list[FieldSpan]]:
        assert self.fields is not None
        assert isinstance(text, Mapping)
        starts = list(accumulate((len(part) + 1 for part in prepared[:-1]), initial=0))
        origins = [original_offsets(text.get(name, ""), self.tokenizer) for name in self.fields]
        positions = defaultdict(list)
        for term, start, stop in matches:
            field = bisect_right(starts, start) - 1
            first, last = start - starts[field], stop - 1 - starts[field]
            origin = origins[field]
            positions[term].append(FieldSpan(origin[first], origin[last] + 1, self.fields[field]))
        return positions

    def count_spans(self, text: Text) -> int:
        """Return the number of `spans` of a text."""
        return len(terms_of(self.vocabulary, self._prepare(text), self._settings()))

    def term_count_bound(self, text: Text) -> int:
        """Return an upper bound of the number of terms of a text, from its length only."""
        low, high = self.char_ngrams or (1, 0)
        n, n_fields = n_characters(text), 1 if isinstance(text, str) else len(text)
        n_words = (n // 2 + n_fields) * (self.ngrams + (self.form_weight > 0))
        is_ascii = all(map(str.isascii, [text] if isinstance(text, str) else text.values()))
        n_units = 0 if is_ascii else max(self.ngrams, UNIT_NGRAM) * 2 * n  # normalising may lengthen a text
        return max(n_words, n_units) + (high - low + 1) * n

    def count_terms(self, text: Text) -> int:
        """Return the number of distinct terms of a text, known or not. A term counts once in each field."""
        parts = [text] if isinstance(text, str) else text.values()
        settings = self._settings(counts_all=True)
        return sum(len(text_counts(Vocabulary(), [prepare(part, self.tokenizer)], settings)[1]) for part in parts)

    def name(self, term: int, *, unique: bool = False) -> str:
        """Return a term as readable text. With `unique`, a word form is marked to differ from an equal stem."""
        return join_words(self.vocabulary.name(term, unique))

    @property
    def n_terms(self) -> int:
        """Number of known terms."""
        return self.vocabulary.n_terms

    # -- persistence and pruning ---------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as flat arrays."""
        starts, lengths, counts, names = self.vocabulary.arrays()
        terms: dict[str, NDArray[Any]] = {
            "term_starts": starts,
            "term_lengths": lengths,
            "term_counts": counts,
            "term_names": names,
        }
        return {**terms, **self.counters()}

    def counters(self) -> dict[str, NDArray[Any]]:
        """Return the part of the state that does not belong to single terms."""
        counters = np.array([self.vocabulary.n_texts, self.vocabulary.n_distinct, int(self.counted)], np.int64)
        if self.min_count > 1 and not self.counted:
            return {"text_counters": counters, "term_sightings": self.vocabulary.sightings}
        return {"text_counters": counters}

    def array_blocks(self) -> dict[str, tuple[np.dtype[Any], int, Callable[[], Iterator[NDArray[Any]]]]]:
        """Return type, length and blocks of each array of a vocabulary, to write them without a second copy."""
        vocabulary = self.vocabulary
        n, size = vocabulary.n_terms, vocabulary.n_name_bytes

        def column(number: int) -> Iterator[NDArray[Any]]:
            for start in range(0, n, PART_TERMS):
                yield vocabulary.terms_between(start, start + PART_TERMS)[number]

        def names() -> Iterator[NDArray[Any]]:
            for start in range(0, size, PART_BYTES):
                yield vocabulary.name_bytes(start, start + PART_BYTES)

        whole, half = np.dtype(np.int64), np.dtype(np.int32)
        return {
            "term_starts": (whole, n, lambda: column(0)),
            "term_lengths": (half, n, lambda: column(1)),
            "term_counts": (half, n, lambda: column(2)),
            "term_names": (np.dtype(np.uint8), size, names),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned. Raise ValueError if it is invalid."""
        sightings = np.array(arrays["term_sightings"]) if "term_sightings" in arrays else None
        self.vocabulary = Vocabulary.from_arrays(
            arrays["term_starts"], arrays["term_lengths"], arrays["term_counts"], arrays["term_names"], sightings
        )
        n_texts, n_distinct, counted = arrays["text_counters"].tolist()
        counts, names = arrays["term_counts"], arrays["term_names"]
        in_range = arrays["text_counters"].dtype == np.int64 and counted in (0, 1)
        if not in_range or not 0 <= n_texts <= MAX_TEXTS or not 0 <= n_distinct <= MAX_TEXTS:
            raise ValueError("the counters of the texts are out of range")
        if counts.max(initial=0) > n_texts or counts.sum(dtype=np.int64) > n_distinct:
            raise ValueError("the counters of the texts do not match those of their terms")
        decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        for start in range(0, len(names), PART_BYTES):  # no name starts within a character
            decoder.decode(names[start : start + PART_BYTES].tobytes(), start + PART_BYTES >= len(names))
        self.vocabulary.n_texts, self.vocabulary.n_distinct, self.counted = n_texts, n_distinct, bool(counted)

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Drop all terms but the wanted ones, and renumber these in their old order.

        An n-gram must not be kept without its words. A threshold on the counts ensures this.
        """
        starts, lengths, counts, names = self.vocabulary.arrays()
        number = np.cumsum(wanted) - 1
        is_word = lengths >= 0
        words = is_word & wanted
        new_starts, new_lengths = starts.copy(), lengths.copy()
        runs = ~is_word & wanted
        new_starts[runs] = number[starts[runs]]
        new_lengths[runs] = -1 - number[-1 - lengths[runs]]
        sizes = lengths[words].astype(np.int64)
        new_starts[words] = np.cumsum(sizes) - sizes
        kept_bytes = np.repeat(wanted[is_word], lengths[is_word])
        vocabulary = Vocabulary.from_arrays(
            np.ascontiguousarray(new_starts[wanted]),
            np.ascontiguousarray(new_lengths[wanted]),
            np.ascontiguousarray(counts[wanted]),
            names[kept_bytes],
            self.vocabulary.sightings,
        )
        vocabulary.n_texts, vocabulary.n_distinct = self.vocabulary.n_texts, self.vocabulary.n_distinct
        self.vocabulary = vocabulary
