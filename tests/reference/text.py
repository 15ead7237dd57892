"""The text front end in plain Python: names instead of numbers, dictionaries instead of tables."""

import math
import re
import unicodedata
from collections import Counter

import Stemmer

FORM = "\x02"  # before a word as it is written, beside its stem


def words(text):
    return re.findall(r"(?:\w|\u0307)+", unicodedata.normalize("NFC", text).lower())


def terms(text, ngrams=2, char_ngrams=None, stem=None, forms=False):
    """Return the terms of a text: its words or stems, each followed by its parts, then pairs, and so on.

    A word that differs from its stem may be a term too, and comes before the stem.
    """
    found = []
    written = words(text)
    tokens = Stemmer.Stemmer(stem).stemWords(written) if stem else written
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
    for n in range(2, ngrams + 1):
        found.extend(" ".join(tokens[end - n : end]) for end in range(n, len(tokens) + 1))
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
    ):
        self.field_weights = field_weights  # by field; of a text without fields, every occurrence counts once
        self.cutting = {"ngrams": ngrams, "char_ngrams": char_ngrams, "stem": stem, "forms": form_weight > 0}
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
