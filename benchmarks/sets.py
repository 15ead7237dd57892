"""Build the data sets: the same matrix and labels for every system.

python -m benchmarks.sets                               list the data sets and their sizes
python -m benchmarks.sets finna-100k                    build one and print its figures
python -m benchmarks.sets write 20news FOLDER           write its texts as train.jsonl, test.jsonl and names.tsv
python -m benchmarks.sets write 20news FOLDER --development    write development.jsonl instead of test.jsonl

`load(name)` includes the test rows of a data set, for reports. `development(name)` contains only training rows, some of
which are held out; use it to choose settings.
"""

import argparse
import hashlib
import json
import lzma
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import normalize

from benchmarks import documents
from benchmarks.documents import (
    ORDERS,
    SOURCES,
    Rows,
    data_folder,
    every_nth_row,
    finna_rows,
    json_lines,
    last_rows,
    split,
)
from benchmarks.locked import files as locked

__all__ = ["RECIPES", "LabelSet", "data_folder", "development", "finna_rows", "json_lines", "load"]

# A changed recipe must not use a cache that an older one built.
VERSION = hashlib.sha256(Path(__file__).read_bytes() + Path(documents.__file__).read_bytes()).hexdigest()[:8]
CACHE = Path(os.environ.get("ABOUND_CACHE", ".cache")) / f"sets-{VERSION}"


@dataclass
class LabelSet:
    """Training rows and test rows with their labels.

    Labels are the columns of Y, numbered by first appearance in the training rows. Labels that occur only in test rows
    come last; every system misses them.
    """

    name: str
    X_train: "sp.csr_matrix"
    Y_train: "sp.csr_matrix"
    X_test: "sp.csr_matrix"
    Y_test: "sp.csr_matrix"
    texts_train: list[str] = field(default_factory=list)
    texts_test: list[str] = field(default_factory=list)

    @property
    def n_train_labels(self) -> int:
        return int((np.asarray(self.Y_train.sum(axis=0)).ravel() > 0).sum())

    def describe(self) -> str:
        n_rows, n_features = self.X_train.shape
        return (
            f"{self.name}: {n_rows:,} training and {self.X_test.shape[0]:,} test rows, {n_features:,} features "
            f"({self.X_train.nnz / n_rows:.1f} per row), {self.n_train_labels:,} labels "
            f"({self.Y_train.nnz / n_rows:.2f} per row)"
        )


def label_matrices(train: list[list[str]], test: list[list[str]]) -> tuple["sp.csr_matrix", "sp.csr_matrix"]:
    """Number labels by first appearance and return the two indicators."""
    ids: dict[str, int] = {}
    parts = []
    for rows in (train, test):
        indptr, indices = [0], []
        for row in rows:
            indices.extend(sorted({ids.setdefault(name, len(ids)) for name in row}))
            indptr.append(len(indices))
        parts.append((np.ones(len(indices), np.float32), np.array(indices, np.int32), np.array(indptr, np.int64)))
    y_train, y_test = (sp.csr_matrix(p, shape=(len(p[2]) - 1, len(ids))) for p in parts)
    return y_train, y_test


@dataclass(frozen=True)
class Recipe:
    """How to build a data set: training and test rows, their matrices, and the split for development.

    Matrices are built after the split, so that no count or idf includes a held-out row.
    """

    parts: Callable[[], tuple[Any, Any]]
    build: Callable[[str, Any, Any], LabelSet]
    cut: Callable[[Any], tuple[Any, Any]]

    def final(self, name: str) -> LabelSet:
        return self.build(name, *self.parts())

    def development(self, name: str) -> LabelSet:
        return self.build(name, *self.cut(self.parts()[0]))


def _texts(name: str, ngrams: int = 1) -> Recipe:
    """Turn texts into sublinear tf-idf rows of unit length, over terms that occur in two training rows."""

    def build(name: str, train: Rows, test: Rows) -> LabelSet:
        texts_train, texts_test = [row.text for row in train], [row.text for row in test]
        tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, ngrams))
        x_train = tfidf.fit_transform(texts_train)
        y_train, y_test = label_matrices([row.labels for row in train], [row.labels for row in test])
        return LabelSet(name, x_train, y_train, tfidf.transform(texts_test), y_test, texts_train, texts_test)

    source = SOURCES[name]
    return Recipe(source.parts, build, lambda rows: split(rows, source.cut(rows)))


Vectors = tuple["sp.csr_matrix", list[tuple[float, ...]]]


def _from_vectors(name: str, train: Vectors, test: Vectors) -> LabelSet:
    """Weight given features by idf and scale rows to unit length; training rows are in a fixed random order."""
    (x_train, names_train), (x_test, names_test) = train, test
    order = np.random.default_rng(0).permutation(x_train.shape[0])
    tfidf = TfidfTransformer(sublinear_tf=True).fit(x_train)
    lists = [[names_train[i] for i in order], names_test]
    y_train, y_test = label_matrices(*([list(map(str, names)) for names in part] for part in lists))
    return LabelSet(name, tfidf.transform(x_train[order]), y_train, tfidf.transform(x_test), y_test)


def _svmlight(name: str, n_features: int) -> Vectors:
    with lzma.open(data_folder() / name, "rb") as lines:
        rows, labels = load_svmlight_file(lines, n_features=n_features, multilabel=True, zero_based=True)
    return sp.csr_matrix(rows), labels


def _cut_vectors(vectors: Vectors, cut: Callable[[Sequence[Any]], list[bool]]) -> tuple[Vectors, Vectors]:
    rows, labels = vectors
    numbers = split(range(len(labels)), cut(labels))
    train, held = ((rows[part], [labels[i] for i in part]) for part in numbers)
    return train, held


def _mulan(name: str, n_features: int) -> Recipe:
    def parts() -> tuple[Vectors, Vectors]:
        train, test = (_svmlight(f"mulan/{name}/{name}-{part}.svm.xz", n_features) for part in ("train", "test"))
        return train, test

    return Recipe(parts, _from_vectors, lambda train: _cut_vectors(train, every_nth_row))


def _rcv1() -> tuple[Vectors, Vectors]:
    """Return the first half of subset 1; its first 2,000 rows are training rows.

    Every half of every subset numbers its topics differently (see `benchmarks.papers.mmp.corpora`), so halves cannot be
    combined.
    """
    rows, labels = _svmlight("rcv1-subsets/rcv1subset1_top944.svm.xz", 944)
    return (rows[:2000], labels[:2000]), (rows[2000:3000], labels[2000:3000])


AUSTEN_BOOKS = ("emma", "mansfieldpark", "northangerabbey", "persuasion", "prideprejudice", "sensesensibility")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’]*\s+|\n\s*\n")
# The paper uses three words on either side "and their conjunctions", about 15 features per word, without details.
# This interpretation uses the words at their positions, and nine n-grams and skip-grams of the words nearest the gap.
AUSTEN_PLACES = (
    *((-3,), (-2,), (-1,), (1,), (2,), (3,)),
    *((-2, -1), (1, 2), (-1, 1), (-2, 1), (-1, 2)),
    *((-3, -2, -1), (-2, -1, 1), (-1, 1, 2), (1, 2, 3)),
)


def austen_sentences() -> Iterator[list[str]]:
    """Yield the words of each sentence of the six novels, lower-cased."""
    for book in AUSTEN_BOOKS:
        text = (data_folder() / "austen" / f"{book}.txt").read_text(encoding="utf-8")
        for sentence in SENTENCE_END.split(text):
            words = re.findall(r"[a-z]+(?:'[a-z]+)?", sentence.lower().replace("’", "'"))
            if words:
                yield words


def word_context(words: list[str], at: int) -> dict[str, float]:
    """Return the features of a word's context; the ends of a sentence are marked like words."""
    around = dict.fromkeys(range(-3, 4))
    for offset in around:
        if 0 <= at + offset < len(words):
            around[offset] = words[at + offset]
        elif at + offset in (-1, len(words)):
            around[offset] = "#"
    names = {}
    for places in AUSTEN_PLACES:
        found = [around[place] for place in places]
        if None not in found:
            names[f"{places} {' '.join(found)}"] = 1.0
    return names


Contexts = list[tuple[dict[str, float], str]]


def _austen() -> tuple[Contexts, Contexts]:
    """Return each word with its context in the sentence; a random tenth is held out, as in the paper."""
    found = [(word_context(words, at), word) for words in austen_sentences() for at, word in enumerate(words)]
    order = np.random.default_rng(0).permutation(len(found))
    n_test = len(order) // 10
    return [found[i] for i in order[n_test:]], [found[i] for i in order[:n_test]]


def _from_contexts(name: str, train: Contexts, test: Contexts) -> LabelSet:
    vectorizer = DictVectorizer()
    everything = normalize(vectorizer.fit_transform(context for context, _ in [*test, *train]))
    y_train, y_test = label_matrices([[word] for _, word in train], [[word] for _, word in test])
    return LabelSet(name, everything[len(test) :], y_train, everything[: len(test)], y_test)


PAIRS = ("finna-100k", "finna-10k", "finna-20k", "finna-5k", "finna-fi-100k", "gutenberg-5k", "gutenberg-lcsh")
PAIRS += ("wordnet-hypernym", "yso-finna-en", "yso-finna-fi")  # short texts, in which pairs of words are features too
PAIRS += ("locked-edict-kanji",)

RECIPES: dict[str, Recipe] = {
    **{name: _texts(name, 2 if name in PAIRS else 1) for name in SOURCES},
    "austen-words": Recipe(_austen, _from_contexts, lambda rows: split(rows, every_nth_row(rows))),
    "bibtex": _mulan("bibtex", 1836),
    "delicious": _mulan("delicious", 500),
    "rcv1-subset": Recipe(_rcv1, _from_vectors, lambda train: _cut_vectors(train, last_rows)),
}


def recipe(name: str) -> Recipe:
    if name not in RECIPES:
        sys.exit(f"unknown data set {name!r}; known data sets: {', '.join(sorted(RECIPES))}")
    return RECIPES[name]


def development(name: str) -> LabelSet:
    """Return a data set to choose settings on: its held-out rows are training rows, and it has no test rows."""
    return recipe(name).development(name)


def load(name: str) -> LabelSet:
    """Build a data set with its test rows, or read the matrices that an earlier call built."""
    found = recipe(name)
    return stored(name, lambda: found.final(name))


def stored(name: str, build: Callable[[], LabelSet]) -> LabelSet:
    """Return the matrices and texts in the cache under a name, which are built on first use."""
    folder = CACHE / name
    matrices = ("X_train", "Y_train", "X_test", "Y_test")
    if not (folder / "texts.json").exists():
        built = build()
        folder.mkdir(parents=True, exist_ok=True)
        for matrix in matrices:
            sp.save_npz(folder / f"{matrix}.npz", getattr(built, matrix), compressed=False)
        (folder / "texts.json").write_text(json.dumps([built.texts_train, built.texts_test]))
    texts = json.loads((folder / "texts.json").read_text())
    return LabelSet(name, *(sp.csr_matrix(sp.load_npz(folder / f"{m}.npz")) for m in matrices), *texts)


def main(argv: list[str]) -> None:
    if argv[:1] != ["write"]:
        for name in argv or sorted(set(RECIPES) - set(locked.NAMES)):
            print(load(name).describe())
        return
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets write", description="Write the texts of a data set."
    )
    parser.add_argument("name", choices=sorted(SOURCES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--development", action="store_true", help="hold out training rows instead of the test rows")
    parser.add_argument("--order", choices=ORDERS, default="filed", help="order of the training rows")
    given = parser.parse_args(argv[1:])
    found = documents.development(given.name) if given.development else documents.final(given.name)
    documents.write(found, given.folder, "development" if given.development else "test", given.order)
    print(f"{len(found.train):,} training rows, {len(found.held):,} held out, names of {len(found.names):,} labels")


if __name__ == "__main__":
    main(sys.argv[1:])
