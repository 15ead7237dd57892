"""Read the corpora of the category-ranking paper, or available substitutes, as counts and label indicators."""

import functools
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.model_selection import train_test_split

from benchmarks import sets

FOLDS = 5


class Part(NamedTuple):
    """Training documents, in learning order, and documents to rank."""

    X_train: sp.csr_matrix
    Y_train: sp.csr_matrix
    X_test: sp.csr_matrix
    Y_test: sp.csr_matrix


class Corpus(NamedTuple):
    """Parts whose test documents are pooled; label numbers are consistent within each part.

    `tested` has the number of each test document, so that a document is found again under another seed.
    """

    name: str
    about: str
    parts: list[Part]
    tested: np.ndarray


def plain_words(text: str) -> str:
    """Prepare a text as in section 4.1: lower case, a run of digits is one token, all else between words is space.

    The paper leaves open what replaces a discarded character, and whether each digit or each number becomes the token.
    This interpretation gives 49.6 distinct words per document; the paper has 49.
    """
    return re.sub(r"[0-9]+", "#", re.sub(r"[^a-z0-9]+", " ", text.lower()))


def counted(texts: list[str]) -> sp.csr_matrix:
    """Count words without stop words."""
    counter = CountVectorizer(preprocessor=plain_words, tokenizer=str.split, token_pattern=None)
    counter.set_params(stop_words=sorted(ENGLISH_STOP_WORDS))
    return sp.csr_matrix(counter.fit_transform(texts), dtype=np.float64)


def labels_line(Y: sp.csr_matrix, word: str) -> str:
    return f"{Y.shape[1]} {word} ({Y.nnz / Y.shape[0]:.2f} a row)"


@functools.cache
def reuters_documents(limit: int | None = None) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return counts and topics of the ModApte documents, training and test together, oldest first."""
    topics = set((sets.data_folder() / "reuters21578" / "topics90.txt").read_text().split())
    texts, labels = [], []
    for story in sets.json_lines("reuters21578/reuters21578.jsonl.xz"):
        found = [topic for topic in story["topics"] if topic in topics]
        if found and story["split"] in ("train", "test"):
            texts.append(f"{story['title'] or ''} {story['body'] or ''}")
            labels.append(found)
        if limit is not None and len(texts) == limit:
            break
    return counted(texts), sets.label_matrices(labels, [])[0]


def folds(n_rows: int, protocol: str, n_folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training rows, in learning order, and test rows.

    "corpus order" uses random folds but learns the oldest document first. "runs" divides the corpus into runs of
    neighbouring documents and learns in random order. All others take folds from a random order and learn in it.
    """
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    for test in np.array_split(np.arange(n_rows) if protocol == "runs" else shuffled, n_folds):
        train = shuffled[~np.isin(shuffled, test)]
        yield np.sort(train) if protocol == "corpus order" else train, test


def reuters(protocol: str = "chance", limit: int | None = None, n_folds: int = FOLDS, seed: int = 0) -> Corpus:
    """Return Reuters-21578 in folds."""
    X, Y = reuters_documents(limit)
    divided = list(folds(X.shape[0], protocol, n_folds, seed))
    parts = [Part(X[a], Y[a], X[b], Y[b]) for a, b in divided]
    about = f"{X.shape[0]:,} documents (ModApte), {X.shape[1]:,} words, {labels_line(Y, 'topics')}, {n_folds} folds"
    return Corpus("reuters-21578", about, parts, np.concatenate([test for _, test in divided]))


RCV1_HALF = 3_000


@functools.cache
def rcv1_rows(path: Path) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return the words and topics of one file of subsets."""
    with lzma.open(path, "rb") as lines:
        X, labels = load_svmlight_file(lines, n_features=944, multilabel=True, zero_based=True)
    indptr, ids = np.cumsum([0, *map(len, labels)]), np.concatenate(labels).astype(np.int32)
    return X, sp.csr_matrix((np.ones(len(ids), np.float32), ids, indptr), shape=(len(labels), 101))


def shuffled(part: Part, random: np.random.Generator) -> Part:
    """Return a part whose training documents are in a random order."""
    order = random.permutation(part.X_train.shape[0])
    return part._replace(X_train=part.X_train[order], Y_train=part.Y_train[order])


def rcv1(subsets: int = 5, limit: int = RCV1_HALF, seed: int = 0) -> Corpus:
    """Return halves of subsets of RCV1, each trained on its first two thirds, as the paper does with all of it.

    The first and the last 3,000 rows of a file have the same words but number their topics differently: a model of one
    half is right for one row in twenty of the other, and for five in six of its own. So each half is a part. The seed
    chooses the order in which training documents are learned.
    """
    parts, random = [], np.random.default_rng(seed)
    for path in sorted((sets.data_folder() / "rcv1-subsets").glob("*.svm.xz"))[:subsets]:
        X, Y = rcv1_rows(path)
        cut = limit * 2 // 3
        for start in (0, RCV1_HALF):
            train, test = slice(start, start + cut), slice(start + cut, start + limit)
            part = Part(*(sp.csr_matrix(matrix[rows]) for rows in (train, test) for matrix in (X, Y)))
            parts.append(shuffled(part, random))
    about = f"{len(parts)} halves of subsets, {cut:,} and {limit - cut:,} documents each, 944 words (present or not)"
    tested = np.arange(sum(part.Y_test.shape[0] for part in parts))
    return Corpus(
        "rcv1-subsets", f"{about}, 101 topics; in place of Reuters-2000, which is not to be had", parts, tested
    )


@functools.cache
def debian_rows() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return words and tags of the tagged Debian packages."""
    packages = [p for p in sets.json_lines("debian-tags/debian-bookworm.jsonl.xz") if p["tags"]]
    X = counted([" ".join((p["package"], p["summary"], p["description"])) for p in packages])
    return X, sets.label_matrices([p["tags"] for p in packages], [])[0]


def debian(seed: int = 0) -> Corpus:
    """Return the tagged Debian packages, a random tenth held out, always the same; the seed orders the others."""
    X, Y = debian_rows()
    a, b = train_test_split(np.arange(X.shape[0]), test_size=0.1, random_state=0)
    about = f"{len(a):,} and {len(b):,} packages, {X.shape[1]:,} words, {labels_line(Y, 'tags')}"
    part = shuffled(Part(X[a], Y[a], X[b], Y[b]), np.random.default_rng(seed))
    return Corpus("debian-tags", about, [part], b)
