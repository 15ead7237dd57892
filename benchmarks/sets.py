"""One recipe for each data set: the same matrix and labels for every system.

python -m benchmarks.sets                   list the sets and what they hold
python -m benchmarks.sets finna-100k        build one and print its figures
"""

import hashlib
import json
import lzma
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

# A changed recipe must not meet what an older one built.
VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
CACHE = Path(os.environ.get("ABOUND_CACHE", ".cache")) / f"sets-{VERSION}"


@dataclass
class LabelSet:
    """Rows and labels to learn from, and others to be ranked.

    Labels are the columns of Y, numbered by first appearance in the training rows; labels that only test rows
    have come after those, so they count as missed by everybody.
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
            f"({self.X_train.nnz / n_rows:.1f} a row), {self.n_train_labels:,} labels "
            f"({self.Y_train.nnz / n_rows:.2f} a row)"
        )


def data_folder() -> Path:
    """Return the folder of the data sets."""
    folder = Path(os.environ.get("ABOUND_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(f"no data sets: set ABOUND_DATA to the folder that holds them ({folder} is none)")
    return folder


def json_lines(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(data_folder() / name, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


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


def _from_texts(
    name: str, train: list[tuple[str, list[str]]], test: list[tuple[str, list[str]]], **vectorizer: Any
) -> LabelSet:
    """Turn texts into sublinear tf-idf rows of unit length, over terms that occur in two training rows."""
    texts_train, texts_test = [text for text, _ in train], [text for text, _ in test]
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, **vectorizer)
    x_train = tfidf.fit_transform(texts_train)
    y_train, y_test = label_matrices([labels for _, labels in train], [labels for _, labels in test])
    return LabelSet(name, x_train, y_train, tfidf.transform(texts_test), y_test, texts_train, texts_test)


def finna_rows(language: str = "en") -> Iterator[tuple[str, list[str]]]:
    """Yield (title or abstract, subject numbers) in the file's order."""
    with lzma.open(data_folder() / f"yso-finna-{language}" / "docs.tsv.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            labels, _, text = line.rstrip("\n").partition("\t")
            yield text, labels.split()


def _finna(name: str, n_train: int, n_test: int) -> LabelSet:
    rows = [row for row, _ in zip(finna_rows(), range(n_train + n_test), strict=False)]
    return _from_texts(name, rows[:n_train], rows[n_train:], ngram_range=(1, 2))


def _finna_100k() -> LabelSet:
    return _finna("finna-100k", 100_000, 10_000)


def _finna_10k() -> LabelSet:
    return _finna("finna-10k", 10_000, 2_000)


def _finna_20k() -> LabelSet:
    return _finna("finna-20k", 20_000, 1_000)


def _whole_finna(language: str) -> LabelSet:
    """Return all titles of a language, every 20th held out, as `benchmarks.shards` and `benchmarks.text` do."""
    rows = list(finna_rows(language))
    train, test = ([row for number, row in enumerate(rows) if (number % 20 == 19) == held] for held in (False, True))
    return _from_texts(f"yso-finna-{language}", train, test, ngram_range=(1, 2))


def shuffled(rows: Iterable[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Return rows in the order of a hash of their texts, so that no learner profits or suffers from the file's order.

    Files are sorted by label, by field of meaning or by time; the titles of finna come in such an order already.
    """
    return sorted(rows, key=lambda row: (hashlib.md5(row[0].encode(), usedforsecurity=False).digest(), row))


def _every_tenth(
    name: str,
    rows: Iterable[tuple[str, list[str]]],
    n_train: int | None = None,
    n_test: int | None = None,
    **vectorizer: Any,
) -> LabelSet:
    """Hold every tenth of the shuffled rows out; equal texts become one row with all their labels."""
    merged: dict[str, dict[str, None]] = {}
    for text, labels in rows:
        merged.setdefault(text, {}).update(dict.fromkeys(labels))
    ordered = shuffled((text, list(labels)) for text, labels in merged.items())
    train, test = ([row for number, row in enumerate(ordered) if (number % 10 == 9) == held] for held in (False, True))
    return _from_texts(name, train[:n_train], test[:n_test], **vectorizer)


def _gutenberg(name: str = "gutenberg-lcsh", n_train: int | None = None, n_test: int | None = None) -> LabelSet:
    """Return the subject headings of books by title and authors."""
    rows = (
        (" ".join([book["title"] or "", *book["authors"]]), book["lcsh"])
        for book in json_lines("gutenberg-lcsh/gutenberg.jsonl.xz")
        if book["lcsh"]
    )
    return _every_tenth(name, rows, n_train, n_test, ngram_range=(1, 2))


def _wordnet() -> LabelSet:
    """Return the direct hypernyms of nouns and verbs by their gloss."""
    rows = (
        (synset["gloss"], synset["hyper"])
        for synset in json_lines("wordnet-hypernym/wordnet31.jsonl.xz")
        if synset["hyper"]
    )
    return _every_tenth("wordnet-hypernym", rows, ngram_range=(1, 2))


def _debian_depends() -> LabelSet:
    """Return what packages depend on, by the same text as their tags."""
    rows = (
        (" ".join((package["package"], package["summary"], package["description"])), package["depends"])
        for package in json_lines("debian-tags/debian-bookworm.jsonl.xz")
        if package["depends"]
    )
    return _every_tenth("debian-depends", rows)


def _ohsumed() -> LabelSet:
    parts: dict[str, list[tuple[str, list[str]]]] = {"train": [], "test": []}
    for abstract in json_lines("ohsumed23/ohsumed_single_23.jsonl.xz"):
        parts[abstract["split"]].append((abstract["text"], [abstract["cls"]]))
    return _from_texts("ohsumed23", shuffled(parts["train"]), parts["test"])


Vectors = tuple["sp.csr_matrix", list[tuple[float, ...]]]


def _from_vectors(name: str, train: Vectors, test: Vectors) -> LabelSet:
    """Weigh given features by idf and scale rows to unit length; training rows come in a fixed random order."""
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


def _mulan(name: str, n_features: int) -> LabelSet:
    train, test = (_svmlight(f"mulan/{name}/{name}-{part}.svm.xz", n_features) for part in ("train", "test"))
    return _from_vectors(name, train, test)


def _rcv1() -> LabelSet:
    """Return the first half of subset 1; its first 2,000 rows are learnt from.

    Every half of every subset numbers its topics in its own way (see `benchmarks.papers.mmp_corpora`), so that halves
    cannot be put together.
    """
    rows, labels = _svmlight("rcv1-subsets/rcv1subset1_top944.svm.xz", 944)
    return _from_vectors("rcv1-subset", (rows[:2000], labels[:2000]), (rows[2000:3000], labels[2000:3000]))


def _newsgroups() -> LabelSet:
    parts: dict[str, list[tuple[str, list[str]]]] = {"train": [], "test": []}
    for message in json_lines("20news/20news-bydate.jsonl.xz"):
        parts[message["split"]].append((message["text"], [message["group"]]))
    return _from_texts("20news", parts["train"], parts["test"])


def _debian_tags() -> LabelSet:
    rows = [
        (" ".join((package["package"], package["summary"], package["description"])), package["tags"])
        for package in json_lines("debian-tags/debian-bookworm.jsonl.xz")
        if package["tags"]
    ]
    train, test = train_test_split(rows, test_size=0.1, random_state=0)
    return _from_texts("debian-tags", train, test)


def _reuters_90() -> LabelSet:
    topics = set((data_folder() / "reuters21578" / "topics90.txt").read_text().split())
    parts: dict[str, list[tuple[str, list[str]]]] = {"train": [], "test": []}
    for story in json_lines("reuters21578/reuters21578.jsonl.xz"):
        labels = [topic for topic in story["topics"] if topic in topics]
        if story["split"] in parts and labels:
            parts[story["split"]].append((f"{story['title'] or ''} {story['body'] or ''}", labels))
    return _from_texts("reuters-90", parts["train"], parts["test"])


AUSTEN_BOOKS = ("emma", "mansfieldpark", "northangerabbey", "persuasion", "prideprejudice", "sensesensibility")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’]*\s+|\n\s*\n")
# The paper takes three words on either side "and their conjunctions", about 15 features a word, and says no more.
# This reading takes the words at their places, and nine runs and embraces of those nearest to the gap.
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
    """Return the features of a word's neighbourhood; a sentence's ends are marked as words are."""
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


def _austen() -> LabelSet:
    """Predict each word from its neighbourhood in the sentence; a random tenth is held out, as in the paper."""
    contexts, targets = [], []
    for words in austen_sentences():
        contexts.extend(word_context(words, at) for at in range(len(words)))
        targets.extend([word] for word in words)
    order = np.random.default_rng(0).permutation(len(targets))
    n_test = len(order) // 10
    vectorizer = DictVectorizer()
    everything = normalize(vectorizer.fit_transform(contexts[i] for i in order))
    train, test = slice(n_test, None), slice(0, n_test)
    y_train, y_test = label_matrices([targets[i] for i in order[train]], [targets[i] for i in order[test]])
    return LabelSet("austen-words", everything[train], y_train, everything[test], y_test)


RECIPES: dict[str, Callable[[], LabelSet]] = {
    "20news": _newsgroups,
    "austen-words": _austen,
    "bibtex": lambda: _mulan("bibtex", 1836),
    "debian-depends": _debian_depends,
    "debian-tags": _debian_tags,
    "delicious": lambda: _mulan("delicious", 500),
    "finna-100k": _finna_100k,
    "finna-10k": _finna_10k,
    "finna-20k": _finna_20k,
    "finna-5k": lambda: _finna("finna-5k", 5_000, 1_000),
    "gutenberg-5k": lambda: _gutenberg("gutenberg-5k", 5_000, 1_000),
    "gutenberg-lcsh": _gutenberg,
    "ohsumed23": _ohsumed,
    "rcv1-subset": _rcv1,
    "reuters-90": _reuters_90,
    "wordnet-hypernym": _wordnet,
    "yso-finna-en": lambda: _whole_finna("en"),
    "yso-finna-fi": lambda: _whole_finna("fi"),
}


def load(name: str) -> LabelSet:
    """Build a set, or read the matrices that an earlier call built; texts are read with `load_texts`."""
    if name not in RECIPES:
        sys.exit(f"unknown set {name!r}; known are {', '.join(sorted(RECIPES))}")
    folder = CACHE / name
    matrices = ("X_train", "Y_train", "X_test", "Y_test")
    if not (folder / "texts.json").exists():
        built = RECIPES[name]()
        folder.mkdir(parents=True, exist_ok=True)
        for matrix in matrices:
            sp.save_npz(folder / f"{matrix}.npz", getattr(built, matrix), compressed=False)
        (folder / "texts.json").write_text(json.dumps([built.texts_train, built.texts_test]))
    texts = json.loads((folder / "texts.json").read_text())
    return LabelSet(name, *(sp.csr_matrix(sp.load_npz(folder / f"{m}.npz")) for m in matrices), *texts)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(RECIPES):
        print(load(name).describe())
