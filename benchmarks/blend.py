"""Blend words with dense vectors: label prototypes, neighbours, and a linear model of a few features.

python -m benchmarks.blend run --set finna-20k --model minilm           on development rows: choose by these
python -m benchmarks.blend run --set finna-20k --model minilm --test    on test rows: report these
python -m benchmarks.blend show

A tagger learns the training rows except some (at most 5,000, as the calibration holds out) and ranks these. So do label
prototypes and neighbours. A linear model learns from these rankings how to weight the voters. Then a tagger,
prototypes and neighbours of all training rows rank the held-out rows, and the linear model re-ranks their best labels.

A prototype is the mean vector of the texts of a label, shrunk towards the vector of its name, in the space in which the
covariance of the texts is the identity. Its score is that of linear discriminant analysis: a dot product and a bias.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks import documents
from benchmarks.machine import machine_line
from benchmarks.vectors import Vectors, encode, unit

RESULT = Path(__file__).parent / "results" / "blend.json"
COMMAND = "python -m benchmarks.blend run"
SETS = ("finna-20k", "finna-100k", "gutenberg-5k", "gutenberg-lcsh", "wordnet-hypernym", "debian-tags")
MOST_HELD_OUT = 5000  # rows from which the linear model learns; a tenth of the rows if these are fewer
N_WORDS, N_PROTOTYPES, N_NEIGHBOURS = 30, 20, 30  # best labels of each voter that become candidates
DEPTH = 50  # labels that words rank
NEIGHBOURS = 100
TEMPERATURE = 0.1  # of the weights of neighbours
NAME_WEIGHT = 3.0  # texts that the name of a label counts as
RIDGE = 1.0  # share of the mean variance that is added to every direction
LEAST = 1e-4  # probability of a label that words do not rank
PENALTY = 1e-3
BLOCK = 500

Pairs = NDArray[np.int64]  # text number times number of labels, plus label number
Sparse = Any


# -- voters --------------------------------------------------------------------------------------------


@dataclass
class Part:
    """Rows to learn, and rows to rank with their labels."""

    vectors: Vectors
    labels: Sparse
    texts: list[str]
    queries: Vectors
    truth: Sparse
    query_texts: list[str]


@dataclass
class Names:
    """Vectors of label names, and the numbers of their labels."""

    vectors: Vectors
    labels: NDArray[np.int64]


class Prototypes:
    """One vector and one bias per label; scores are those of linear discriminant analysis."""

    def __init__(self, part: Part, names: Names | None) -> None:
        n_labels, width = part.labels.shape[1], part.vectors.shape[1]
        counts = np.asarray(part.labels.sum(axis=0)).ravel().astype(np.float32)
        self.mean = part.vectors.mean(0)
        covariance = np.cov(part.vectors.T)
        ridge = RIDGE * np.trace(covariance) / width * np.eye(width)
        self.whitening = np.linalg.cholesky(np.linalg.inv(covariance + ridge)).astype(np.float32)
        sums = np.asarray(part.labels.T @ part.vectors) - self.mean * counts[:, None]
        weights = np.ones(n_labels, np.float32)  # without a name, a label is shrunk towards the mean of all texts
        self.names = np.zeros((n_labels, width), np.float32)
        if names is not None:
            np.add.at(self.names, names.labels, names.vectors)
            named = np.unique(names.labels)
            self.names = unit(self.names)
            self.names[named] -= self.names[named].mean(0)
            weights[named] = NAME_WEIGHT
        self.names = self.names @ self.whitening
        self.rows = sums @ self.whitening + weights[:, None] * self.names
        self.rows /= (counts + weights)[:, None]
        self.bias = -0.5 * (self.rows**2).sum(1)
        self.bias[(counts == 0) & ~self.names.any(1)] = -np.inf

    def whiten(self, queries: Vectors) -> Vectors:
        """Return texts in the space of the prototypes."""
        white: Vectors = (queries - self.mean) @ self.whitening
        return white

    def best(self, queries: Vectors, k: int) -> Pairs:
        """Return the best labels of whitened texts."""
        found = []
        for start in range(0, len(queries), BLOCK):
            scores = queries[start : start + BLOCK] @ self.rows.T + self.bias
            found.append(np.argpartition(-scores, k, axis=1)[:, :k])
        return pairs_of(np.concatenate(found), len(self.rows))


def pairs_of(labels: NDArray[Any], n_labels: int) -> Pairs:
    """Return the pairs of a matrix of label numbers, one row per text; -1 is no label."""
    pairs = np.arange(len(labels))[:, None] * np.int64(n_labels) + labels
    found: Pairs = pairs[labels >= 0]
    return found


def words(part: Part, label_names: list[str], names: dict[str, list[str]]) -> tuple[Any, Any, dict[str, float]]:
    """Return label numbers and log-odds of each text by the words of a tagger, best first, and its cost."""
    from abound import Tagger

    lists = np.split(part.labels.indices, part.labels.indptr[1:-1])
    begin = time.process_time()
    tagger = Tagger().fit(part.texts, [[label_names[i] for i in row] for row in lists], label_names=names)
    fitted = time.process_time()
    ranking = tagger.rank_arrays(part.query_texts, DEPTH)
    spent = time.process_time() - fitted
    cost = {"fit_seconds": fitted - begin, "rank_ms": 1e3 * spent / len(part.query_texts)}
    numbers = {name: number for number, name in enumerate(label_names)}
    own = np.array([*(numbers.get(str(name), -1) for name in ranking.names), -1])
    probable = np.clip(np.asarray(ranking.probabilities, np.float64), LEAST, 1 - 1e-9)
    return own[ranking.indices], np.log(probable / (1 - probable)), cost


def neighbour_votes(part: Part) -> tuple[Pairs, NDArray[np.float32], NDArray[np.float32]]:
    """Return the labels of the nearest texts, their share of the votes, and the similarity of the nearest text."""
    k, n_labels = min(NEIGHBOURS, len(part.vectors)), part.labels.shape[1]
    near, similar = [], []
    for start in range(0, len(part.queries), BLOCK):
        scores = part.queries[start : start + BLOCK] @ part.vectors.T
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        near.append(best)
        similar.append(np.take_along_axis(scores, best, 1))
    rows, similarity = np.concatenate(near), np.concatenate(similar)
    weights = np.exp((similarity - similarity.max(1, keepdims=True)) / TEMPERATURE)
    weights /= np.sqrt(np.maximum(np.diff(part.labels.indptr)[rows], 1))  # a row of many labels says less about each
    weights /= weights.sum(1, keepdims=True)
    chosen = part.labels[rows.ravel()]
    source = np.repeat(np.arange(rows.size), np.diff(chosen.indptr))
    pairs = source // k * np.int64(n_labels) + chosen.indices
    unique, group = np.unique(pairs, return_inverse=True)
    nearest = np.full(len(unique), -1.0, np.float32)
    np.maximum.at(nearest, group, similarity.ravel()[source])
    return unique, np.bincount(group, weights.ravel()[source]).astype(np.float32), nearest


# -- candidates and their features ---------------------------------------------------------------------


@dataclass
class Candidates:
    """Labels that some voter ranks, sorted by text, with features of each."""

    texts: NDArray[np.int64]
    labels: NDArray[np.int64]
    features: dict[str, NDArray[np.float32]]
    right: NDArray[np.bool_]
    n_texts: int
    cost: dict[str, float]


def looked_up(pairs: Pairs, known: Pairs, values: NDArray[Any], other: float) -> NDArray[np.float32]:
    """Return the values of pairs, or another value for pairs that are not known."""
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, pairs, sorter=order), len(known) - 1)
    found: NDArray[np.float32] = np.where(known[order[place]] == pairs, values[order[place]], other).astype(np.float32)
    return found


def reciprocal_ranks(texts: NDArray[np.int64], scores: NDArray[Any]) -> NDArray[np.float32]:
    """Return one divided by the rank of each candidate among those of its text."""
    order = np.lexsort((-scores, texts))
    ranks = np.empty(len(texts), np.float32)
    ranks[order] = np.arange(len(texts)) - np.searchsorted(texts, texts[order])
    return 1 / (1 + ranks)


def dots(left: Vectors, right: Vectors, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Vectors:
    """Return the dot products of some pairs of rows."""
    parts = [slice(start, start + 100_000) for start in range(0, len(rows), 100_000)]
    return np.concatenate([np.einsum("ij,ij->i", left[rows[part]], right[columns[part]]) for part in parts])


def cosines(left: Vectors, right: Vectors, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Vectors:
    return dots(unit(left), unit(right), rows, columns)


def candidates(part: Part, ranked: tuple[Any, Any, dict[str, float]], names: Names | None) -> Candidates:
    """Join the best labels of words, prototypes and neighbours, and compute their features."""
    n_labels = part.labels.shape[1]
    labels, odds, cost = ranked
    begin = time.process_time()
    prototypes = Prototypes(part, names)
    built = time.process_time()
    white = prototypes.whiten(part.queries)
    of_prototypes = prototypes.best(white, N_PROTOTYPES)
    scored = time.process_time()
    voted, shares, nearest = neighbour_votes(part)
    searched = time.process_time()
    n_texts = len(part.queries)
    cost = {
        **cost,
        "prototypes_seconds": built - begin,
        "prototypes_ms": 1e3 * (scored - built) / n_texts,
        "neighbours_ms": 1e3 * (searched - scored) / n_texts,
    }
    of_words = pairs_of(labels[:, :N_WORDS], n_labels)
    of_neighbours = voted[reciprocal_ranks(voted // n_labels, shares) > 1 / (N_NEIGHBOURS + 1)]
    pairs = np.unique(np.concatenate([of_words, of_prototypes, of_neighbours]))
    text, label = pairs // n_labels, pairs % n_labels
    known = pairs_of(labels, n_labels)
    log_odds = looked_up(pairs, known, odds[labels >= 0], float(np.log(LEAST)))
    score = dots(white, prototypes.rows, text, label) + prototypes.bias[label]
    counts = np.asarray(part.labels.sum(axis=0)).ravel()[label]
    share = looked_up(pairs, voted, shares, 0.0)
    word_rank = np.where(np.isin(pairs, known), reciprocal_ranks(text, log_odds), 0)
    places = np.tile(1 / np.arange(1, labels.shape[1] + 1), (n_texts, 1))[labels >= 0]
    features = {
        "words: place": looked_up(pairs, known, places, 0.0),  # the ranking of words itself; probabilities may be equal
        "words: log-odds": log_odds,
        "words: ranked": np.isin(pairs, known).astype(np.float32),
        "words: 1 / rank": word_rank,
        "prototypes: score": score,
        "prototypes: cosine": cosines(white, prototypes.rows, text, label),
        "prototypes: 1 / rank": reciprocal_ranks(text, score),
        "names: cosine": cosines(white, prototypes.names, text, label),
        "labels: log count": np.log1p(counts),
        "labels: no text": counts == 0,
        "neighbours: log share": np.log(share + LEAST),
        "neighbours: ranked": share > 0,
        "neighbours: nearest": looked_up(pairs, voted, nearest, -1.0) * (share > 0),
        "both: words and prototypes": word_rank * reciprocal_ranks(text, score),
    }
    right = np.asarray(part.truth[text, label]).ravel() > 0
    as_floats = {name: np.nan_to_num(value).astype(np.float32) for name, value in features.items()}
    return Candidates(text, label, as_floats, right, n_texts, cost)


# -- the linear model ----------------------------------------------------------------------------------


@dataclass
class Linear:
    """A weighted sum of standardised features."""

    names: list[str]
    centres: NDArray[np.float64]
    scales: NDArray[np.float64]
    weights: NDArray[np.float64]

    def matrix(self, found: Candidates) -> NDArray[np.float64]:
        given = np.stack([found.features[name] for name in self.names], 1).astype(np.float64)
        matrix: NDArray[np.float64] = (given - self.centres) / self.scales
        return matrix

    def scores(self, found: Candidates) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self.matrix(found) @ self.weights
        return result


def unfitted(found: Candidates, names: list[str]) -> Linear:
    given = np.stack([found.features[name] for name in names], 1).astype(np.float64)
    return Linear(names, given.mean(0), given.std(0) + 1e-9, np.zeros(len(names)))


def loss_of(matrix: NDArray[Any], found: Candidates) -> Callable[[NDArray[Any]], tuple[float, NDArray[Any]]]:
    """Return the loss of weights and its gradient: each right label competes with the wrong ones of its text."""
    right = found.right
    starts = np.flatnonzero(np.diff(found.texts, prepend=-1))
    group = np.cumsum(np.diff(found.texts, prepend=-1) > 0) - 1
    n_right = np.add.reduceat(right.astype(float), starts)
    share = 1 / np.maximum(n_right, 1)[group]
    n_texts = int((n_right > 0).sum())

    def loss(weights: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        scores = matrix @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, starts)[group])
        wrong = np.add.reduceat(np.where(right, 0, powers), starts)[group]
        likely = np.maximum(powers / np.maximum(powers + wrong, 1e-300), 1e-300)
        pull = np.bincount(group[right], (share / np.maximum(powers + wrong, 1e-300))[right], len(starts))[group]
        gradient = np.where(right, -(1 - likely) * share, powers * pull)
        value = -(np.log(likely[right]) * share[right]).sum() / n_texts
        return value + PENALTY * (weights @ weights) / 2, matrix.T @ gradient / n_texts + PENALTY * weights

    return loss


def fit(found: Candidates, names: list[str]) -> Linear:
    """Minimise the loss over all texts."""
    model = unfitted(found, names)
    loss = loss_of(model.matrix(found), found)
    model.weights = minimize(loss, model.weights, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return model


def fit_online(found: Candidates, names: list[str], step: float = 0.1) -> Linear:
    """Learn text after text with AdaGrad, as a kernel would; features are scaled by those of the first texts."""
    model = unfitted(found, names)
    matrix, squares = model.matrix(found), np.full(len(names), 1e-3)
    ends = np.searchsorted(found.texts, np.arange(found.n_texts + 1))
    for start, stop in itertools.pairwise(ends):
        rows, right = matrix[start:stop], found.right[start:stop]
        if not right.any() or right.all():
            continue
        scores = rows @ model.weights
        powers = np.exp(scores - scores.max())
        wrong = powers[~right].sum()
        likely = powers[right] / (powers[right] + wrong)
        gradient = np.empty(len(rows))
        gradient[right] = -(1 - likely) / right.sum()
        gradient[~right] = powers[~right] * (1 / (powers[right] + wrong)).sum() / right.sum()
        change = rows.T @ gradient
        squares += change**2
        model.weights -= step * change / np.sqrt(squares)
    return model


def precision(found: Candidates, scores: NDArray[Any]) -> list[float]:
    """Return P@1, P@3 and P@5."""
    ranks = 1 / reciprocal_ranks(found.texts, scores)
    return [round(float(found.right[ranks < k + 0.5].sum()) / found.n_texts / k, 4) for k in (1, 3, 5)]


# -- experiments ---------------------------------------------------------------------------------------


WORDS = ["words: log-odds", "words: ranked", "words: 1 / rank"]
PROTOTYPES = ["prototypes: score", "prototypes: cosine", "prototypes: 1 / rank", "names: cosine"]
LABELS = ["labels: log count", "labels: no text"]
NEAR = ["neighbours: log share", "neighbours: ranked", "neighbours: nearest"]
BOTH = ["both: words and prototypes"]
FORMS = {
    "two features": ["words: log-odds", "prototypes: score"],
    "words and prototypes": [*WORDS, *PROTOTYPES, *LABELS, *BOTH],
    "words and neighbours": [*WORDS, *LABELS, *NEAR],
    "prototypes and neighbours": [*PROTOTYPES, *LABELS, *NEAR],
    "all": [*WORDS, *PROTOTYPES, *LABELS, *NEAR, *BOTH],
}
ALONE = {
    "words": "words: place",
    "prototypes": "prototypes: score",
    "names": "names: cosine",
    "neighbours": "neighbours: log share",
}


def label_matrix(rows: list[documents.Row], numbers: dict[str, int]) -> Sparse:
    lists = [sorted({numbers[label] for label in row.labels}) for row in rows]
    indptr = np.cumsum([0, *map(len, lists)])
    indices = np.array([number for one in lists for number in one], np.int64)
    return sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(numbers)))


def parts_of(found: documents.Documents, model: str) -> tuple[Part, Part, Names, list[str]]:
    """Return the rows for the linear model, the rows to measure, name vectors and label names."""
    named = [(label, name) for label, given in found.names.items() for name in given]
    every = [label for row in found.train for label in row.labels] + [label for label, _ in named]
    every += [label for row in found.held for label in row.labels]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(every))}
    # The whole training rows are encoded once for development and test: the vectors of a text are the same in both.
    texts = [row.text for row in [*found.train, *found.held]]
    vectors = encode_known(found.name, model, texts)
    train, held = vectors[: len(found.train)], vectors[len(found.train) :]
    labels, truth = label_matrix(found.train, numbers), label_matrix(found.held, numbers)
    n_held = min(MOST_HELD_OUT, max(len(train) // 10, 100))
    out = np.zeros(len(train), bool)
    out[np.random.default_rng(1).permutation(len(train))[:n_held]] = True
    kept, left = ([text for text, is_out in zip(texts, out, strict=False) if is_out == which] for which in (0, 1))
    first = Part(train[~out], labels[~out], kept, train[out], labels[out], left)
    second = Part(train, labels, texts[: len(train)], held, truth, texts[len(train) :])
    vectors_of_names = encode(model, [name for _, name in named])
    names = Names(vectors_of_names, np.array([numbers[label] for label, _ in named]))
    return first, second, names, list(numbers)


def encode_known(name: str, model: str, texts: list[str]) -> Vectors:
    """Return the vectors of texts, all of which are rows of a data set."""
    whole = documents.final(name)
    given = [row.text for row in whole.train]
    vectors = encode(model, given)
    places = {text: place for place, text in enumerate(given)}
    if any(text not in places for text in texts):
        held = [row.text for row in whole.held]
        vectors = np.concatenate([vectors, encode(model, held)])
        places |= {text: place for place, text in enumerate(held, len(given))}
    result: Vectors = vectors[[places[text] for text in texts]]
    return result


def measure(name: str, model: str, *, test: bool, ablation: bool) -> dict[str, Any]:
    """Measure voters and blends on a data set."""
    found = documents.final(name) if test else documents.development(name)
    first, second, names, label_names = parts_of(found, model)
    taught = candidates(first, words(first, label_names, found.names), names)
    asked = candidates(second, words(second, label_names, found.names), names)
    alone = {voter: precision(asked, asked.features[feature]) for voter, feature in ALONE.items()}
    forms = ["words and prototypes", "all"] if test else list(FORMS)
    blends = {form: precision(asked, fit(taught, FORMS[form]).scores(asked)) for form in forms}
    best = FORMS["words and prototypes"]
    figures: dict[str, Any] = {
        "rows": len(found.train),
        "measured": asked.n_texts,
        "labels": len(label_names),
        "alone": alone,
        "blends": blends,
        "online": precision(asked, fit_online(taught, best).scores(asked)),
        "candidates_a_text": round(len(asked.texts) / asked.n_texts, 1),
        "recall_of_candidates": round(float(asked.right.sum() / second.truth.sum()), 4),
        "cost": {key: round(value, 3) for key, value in asked.cost.items()},
    }
    if ablation:
        without = {left: [feature for feature in best if feature != left] for left in best}
        figures["without"] = {left: precision(asked, fit(taught, kept).scores(asked)) for left, kept in without.items()}
    whole = fit(taught, best)
    figures["weights"] = dict(zip(whole.names, np.round(whole.weights, 3).tolist(), strict=True))
    return figures


def read() -> dict[str, Any]:
    empty: dict[str, Any] = {"command": COMMAND, "machine": machine_line(), "development": {}, "test": {}}
    return json.loads(RESULT.read_text()) if RESULT.exists() else empty


def show() -> None:
    result = read()
    print("| rows | data set | vectors | words | neighbours | prototypes | words and prototypes | all |")
    print("|---|---|---|---|---|---|---|---|")
    for part in ("development", "test"):
        for key, cell in result[part].items():
            cells = [cell["alone"][voter] for voter in ("words", "neighbours", "prototypes")]
            cells += [cell["blends"][form] for form in ("words and prototypes", "all")]
            shown = " | ".join("/".join(f"{value:.3f}"[1:] for value in values) for values in cells)
            print(f"| {part} | {' | '.join(key.split(', '))} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.blend", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--set", choices=SETS, default="finna-20k")
    parser.add_argument("--model", choices=("static", "minilm"), default="static")
    parser.add_argument("--test", action="store_true", help="measure test rows, after all choices are made")
    parser.add_argument("--ablation", action="store_true", help="measure the blend without each of its features, too")
    given = parser.parse_args()
    if given.command == "run":
        figures = measure(given.set, given.model, test=given.test, ablation=given.ablation)
        result = read()
        result["test" if given.test else "development"][f"{given.set}, {given.model}"] = figures
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(figures))
    else:
        show()


if __name__ == "__main__":
    main()
