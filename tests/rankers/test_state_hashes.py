"""What every ranker learns from fixed rows, by its state hash: a change of structure must not change a bit.

After a change that is meant to change what is learnt: python -m tests.rankers.test_state_hashes
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from abound import MMP, Cascade, FeatureFocus, Frequency, Independent, Perceptron, Rocchio, Tagger, merge

KNOWN = Path(__file__).with_name("state_hashes.json")
MAKERS: dict[str, Callable[[], Any]] = {
    "cascade, many labels": lambda: Cascade(few_labels=0, calibrate=False),
    "cascade, candidates in a stream": lambda: Cascade(few_labels=0, candidates=10, passes=2, calibrate=False),
    "cascade, few labels": lambda: Cascade(few_labels=10_000, calibrate=False),
    "cascade, default": lambda: Cascade(calibrate=False),
    "cascade, calibrated": Cascade,
    "cascade, many labels, calibrated": lambda: Cascade(few_labels=0),
    "cascade, three shards": lambda: Cascade(shards=3, n_jobs=2, calibrate=False),
    "cascade, many labels in shards": lambda: Cascade(few_labels=0, shards=4, horizon=50.0, calibrate=False),
    "feature-focus": FeatureFocus,
    "feature-focus, learned rating": lambda: FeatureFocus(rating="learned", passes=2),
    "feature-focus, shards": lambda: FeatureFocus(shards=3, passes=2, horizon=20.0),
    "frequency": Frequency,
    "independent": Independent,
    "mmp": MMP,
    "mmp, touched": lambda: MMP(candidates="touched", early_stopping=0.2),
    "perceptron": lambda: Perceptron(passes=2, averaged=True),
    "perceptron, touched": lambda: Perceptron(candidates="touched"),
    "rocchio": Rocchio,
}
MERGED = (
    "cascade, calibrated",
    "cascade, many labels",
    "cascade, few labels",
    "cascade, default",
    "feature-focus",
    "frequency",
)


def rows(n_rows: int, n_features: int, n_labels: int, seed: int) -> tuple[Any, list[list[str]]]:
    random = np.random.default_rng(seed)
    X = sp.csr_array(sp.random(n_rows, n_features, 0.1, "csr", np.float64, random))
    return X, [[f"l{i}" for i in sorted(set(random.integers(0, n_labels, 4).tolist()))] for _ in range(n_rows)]


SETS = {"few": rows(300, 60, 30, seed=5), "many": rows(400, 80, 1500, seed=6)}


def digest(ranker: Any, X: Any) -> str:
    """Return a hash of what a ranker ranks, how it explains it, and its state."""
    ranking = ranker.rank(X, 7)
    found = hashlib.sha256(ranking.indices.tobytes() + ranking.scores.tobytes())
    for row in (0, 7):
        for label in {int(number) for number in ranking.indices[row, :2] if number >= 0}:
            explained = ranker.explain(X[[row]], ranking.names[label])
            found.update(np.asarray(explained.votes).tobytes() + str(explained.prior).encode())
    return ranker.state_hash()[:16] + found.hexdigest()[:16]


def hashes(name: str, of: str) -> Iterator[tuple[str, str]]:
    """Yield what a ranker has learnt after each way of learning."""
    make, (X, Y) = MAKERS[name], SETS[of]
    yield "fit", digest(make().fit(X, Y), X)
    ranker = make()
    for start in range(0, X.shape[0], 90):
        ranker.partial_fit(X[start : start + 90], Y[start : start + 90])
    yield "partial_fit", digest(ranker, X)
    if ranker.learns_wrong:
        wrong = [[f"l{(n * 7) % 30}"] if f"l{(n * 7) % 30}" not in labels else [] for n, labels in enumerate(Y[:60])]
        yield "wrong", digest(ranker.partial_fit(X[:60], Y[:60], wrong=wrong), X)
    if name in MERGED:
        yield "merged", digest(merge(make().fit(X[:100], Y[:100]), make().fit(X[100:, :], Y[100:])), X)


def text_hashes() -> Iterator[tuple[str, str]]:
    """Yield states of a tagger: after a fit, corrections, and pruning."""
    random = np.random.default_rng(8)
    for of, n_labels in (("few", 20), ("many", 1200)):
        texts = [" ".join(f"word{i}" for i in random.zipf(1.4, 12) % 300) for _ in range(1300)]
        labels = [[f"label {n % n_labels}", f"label {n * 7 % n_labels}"] for n in range(1300)]
        tagger = Tagger(language=None, ranker_params={"few_labels": 1000}).fit(
            texts, labels, label_names={"label 1": ["word1 name", "other"]}
        )
        yield f"{of}, fit", tagger.state_hash()[:32]
        for n in range(12):
            tagger.learn(f"zorb{n} word{n}", [f"new {n}"], wrong=["label 1"] if n % 2 else [])
        tagger.learn_many(texts[:40], labels[40:80])
        yield f"{of}, corrected", tagger.state_hash()[:32]
        tagger.prune(tagger.nbytes // 2)
        yield f"{of}, pruned", tagger.state_hash()[:32]


def all_hashes() -> dict[str, dict[str, str]]:
    found = {f"{name} | {of}": dict(hashes(name, of)) for name in MAKERS for of in SETS}
    return {**found, "tagger": dict(text_hashes())}


@pytest.mark.kernel
@pytest.mark.parametrize("of", SETS)
@pytest.mark.parametrize("name", MAKERS)
def test_a_ranker_learns_the_same_bits_as_before(name: str, of: str) -> None:
    assert dict(hashes(name, of)) == json.loads(KNOWN.read_text())[f"{name} | {of}"]


def test_a_tagger_learns_the_same_bits_as_before() -> None:
    assert dict(text_hashes()) == json.loads(KNOWN.read_text())["tagger"]


if __name__ == "__main__":
    KNOWN.write_text(json.dumps(all_hashes(), indent=1) + "\n")
