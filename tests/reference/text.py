"""The text front end in plain Python: names instead of numbers, dictionaries instead of tables."""

import math
import re
import unicodedata
from collections import Counter

import Stemmer

from abound.text.characters import N_CHARACTERS, character_kinds

FORM = "\x02"  # before a word as it is written, beside its stem


LETTER, MARK, UNIT = 1, 2, 3
IGNORED = re.compile(
    r"[\u00ad\u0307\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u061c\u0640\u064b-\u065f\u0670\u180b-\u180d"
    r"\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)


def spans(text):
    """Yield (word, is a unit, starts where the last one ended) of a text."""
    text = text.replace("\ufdfa", " ").replace("\ufdfb", " ")
    text = IGNORED.sub("", unicodedata.normalize("NFKC", text).casefold()) if not text.isascii() else text.lower()
    kinds = [character_kinds()[ord(ch)] if ord(ch) < N_CHARACTERS else 0 for ch in text]
    i, last = 0, None
    while i < len(text):
        start, kind = i, kinds[i]
        i += 1
        if kind in (LETTER, UNIT):
            while i < len(text) and kinds[i] in ((MARK,) if kind == UNIT else (LETTER, MARK)):
                i += 1
            yield text[start:i], kind == UNIT, start == last
            last = i


def words(text, tokenizer="unicode"):
    if tokenizer == "alphanumeric":
        return re.findall(r"(?:\w|\u0307)+", unicodedata.normalize("NFC", text).lower())
    return [word for word, _, _ in spans(text)]


def unit_runs(text, tokenizer="unicode"):
    """Return, for each word, how many units in a row end with it."""
    if tokenizer == "alphanumeric":
        return [0] * len(words(text, tokenizer))
    runs = []
    for _, is_unit, is_adjacent in spans(text):
        runs.append((runs[-1] if is_adjacent else 0) + 1 if is_unit else 0)
    return runs


def terms(text, ngrams=2, char_ngrams=None, stem=None, forms=False, tokenizer="unicode"):
    """Return the terms of a text: its words or stems, each followed by its parts, then pairs, and so on.

    A word that differs from its stem may be a term too, and comes before the stem.
    """
    found = []
    written, runs = words(text, tokenizer), unit_runs(text, tokenizer)
    stemmer = Stemmer.Stemmer(stem) if stem else None
    tokens = [word if run or not stemmer else stemmer.stemWord(word) for word, run in zip(written, runs, strict=True)]
    for word, as_written in zip(tokens, written, strict=True):
        if forms and word != as_written:
            found.append(FORM + as_written)
        found.append(word)
        if char_ngrams:
            low, high = char_ngrams
            for i in range(len(word)):
                for j in range(i + low, min(i + high, len(word)) + 1):
                    if j - i < len(word):
                        found.append(f"·{word[i:j]}·")
    for n in range(2, max(ngrams, 3) + 1):
        ends = (end for end in range(n, len(tokens) + 1) if n <= ngrams or runs[end - 1] >= n)
        found.extend(" ".join(tokens[end - n : end]) for end in ends)
    return found


def tf(occurrences):
    return 1 + math.log(occurrences) if occurrences > 1 else occurrences


class TextOracle:
    """Count texts one by one and weigh their terms."""

    def __init__(
        self,
        ngrams=2,
        char_ngrams=None,
        weighting="tfidf",
        slope=0.3,
        stem=None,
        run_weight=1.0,
        part_weight=1.0,
        form_weight=0.0,
        field_weights=None,
        tokenizer="unicode",
    ):
        self.field_weights = field_weights  # by field; of a text without fields, every occurrence counts once
        self.cutting = {"ngrams": ngrams, "char_ngrams": char_ngrams, "stem": stem, "forms": form_weight > 0}
        self.cutting["tokenizer"] = tokenizer
        self.weighting, self.slope = weighting, slope
        self.run_weight, self.part_weight, self.form_weight = run_weight, part_weight, form_weight
        self.numbers, self.counts, self.n_texts, self.n_distinct = {}, Counter(), 0, 0

    def counted(self, text):
        """Return the occurrences of each term, weighted by the fields in which they are."""
        if isinstance(text, str):
            return Counter(terms(text, **self.cutting))
        occurrences = Counter()
        for field, weight in self.field_weights.items():
            for term in terms(text.get(field, ""), **self.cutting) if weight else []:
                occurrences[term] += weight
        return occurrences

    def learn(self, text):
        found = self.counted(text)
        for term in found:
            self.numbers.setdefault(term, len(self.numbers))
        self.counts.update(set(found))
        self.n_texts += 1
        self.n_distinct += len(set(found))

    def row(self, text):
        """Return {number of term: weight}."""
        counted = {term: n for term, n in self.counted(text).items() if term in self.numbers}
        if self.weighting == "pivoted":
            return self.pivoted(counted)
        row = {
            t: self.kind(t) * tf(d) * (1 + math.log((1 + self.n_texts) / (1 + self.counts[t])))
            for t, d in counted.items()
        }
        norm = math.sqrt(sum(w * w for w in row.values()))
        return {self.numbers[t]: w / norm for t, w in row.items()}

    def kind(self, term):
        """Return how much a term of its kind weighs."""
        if term.startswith(FORM):
            return self.form_weight
        if term.startswith("·"):
            return self.part_weight
        return self.run_weight if " " in term else 1.0

    def pivoted(self, counted):
        """The weights of SIGIR 2002, section 4: (1 + log d) / (1 + log a) / ((1 - s) + s m_i / m) * log(n / u)."""
        if not counted:
            return {}
        mean_count = sum(counted.values()) / len(counted)
        length = (1 - self.slope) + self.slope * len(counted) / (self.n_distinct / self.n_texts)
        return {
            self.numbers[t]: self.kind(t) * tf(d) / tf(mean_count) / length * math.log(self.n_texts / self.counts[t])
            for t, d in counted.items()
        }
