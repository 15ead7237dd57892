"""Weights of texts: in `fit`, `learn` and `learn_many`, through the spool, in memory and on disk."""

import numpy as np
import pytest

from abound import Tagger
from abound.tagger import spool, training
from abound.tagger.training import Training

WORDS = ["apple", "pear", "car", "lorry", "red", "green", "fast", "slow", "pie", "road", "tree", "wheel"]


def documents(n_rows=300, seed=0):
    """Texts whose words point at their labels, with weights."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 8))) for _ in range(n_rows)]
    labels = [sorted({word for word in text.split() if word in WORDS[:6]}) for text in texts]
    return texts, labels, rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, 3.25], n_rows)


def tagger(**params):
    return Tagger(language=None, ranker_params=params)


@pytest.mark.parametrize("params", [{}, {"few_labels": 0}], ids=str)
@pytest.mark.parametrize("insist", [False, True])
def test_a_whole_weight_is_the_text_learned_as_often(params, insist):
    texts, labels, weights = documents(60)
    weights = np.ceil(weights).astype(int)
    weighted, repeated, single = tagger(**params), tagger(**params), tagger(**params)
    weighted.learn_many(texts, labels, sample_weight=weights, insist=insist)
    rows = np.repeat(np.arange(len(texts)), weights)
    repeated.learn_many([texts[i] for i in rows], [labels[i] for i in rows], insist=insist)
    for text, names, weight in zip(texts, labels, weights, strict=True):
        single.learn(text, names, insist=insist, sample_weight=float(weight))
    assert weighted.state_hash() == repeated.state_hash() == single.state_hash()
    assert weighted.n_rows == weights.sum()


def test_wrong_labels_are_weighted_too():
    texts, labels, _ = documents(40)
    once, twice, weighted = (tagger().fit(texts, labels) for _ in range(3))
    for learner, weight, times in ((once, 1.0, 1), (twice, 1.0, 2), (weighted, 2.0, 1)):
        for _ in range(times):
            learner.learn("apple road", [], wrong=["apple"], insist=False, sample_weight=weight)
    assert weighted.state_hash() == twice.state_hash() != once.state_hash()


def test_a_fraction_is_learned_less():
    texts, labels, _ = documents(100)
    scores = []
    for weight in (0.0, 0.25, 0.5, 1.0):
        learner = tagger().fit(texts, labels)
        learner.learn("apple road", ["car"], insist=False, sample_weight=weight)
        scores.append(learner.explain("apple road", "car").score)
    assert scores == sorted(set(scores))


def test_a_text_of_weight_0_is_not_even_counted():
    texts, labels, weights = documents()
    kept = [i for i, weight in enumerate(weights) if weight]
    weighted = tagger().fit([*texts, "an unknown word"], [*labels, ["new"]], sample_weight=[*(weights > 0), 0])
    without = tagger().fit([texts[i] for i in kept], [labels[i] for i in kept])
    assert weighted.state_hash() == without.state_hash()
    before = weighted.state_hash()
    weighted.learn("another word", ["newer"], sample_weight=0)
    assert weighted.state_hash() == before


def test_weights_of_one_change_nothing():
    texts, labels, _ = documents()
    assert tagger().fit(texts, labels, sample_weight=np.ones(300)).state_hash() == (
        tagger().fit(texts, labels).state_hash()
    )


@pytest.mark.parametrize("language", [None, "auto"])
@pytest.mark.parametrize("params", [{}, {"few_labels": 0}, {"shards": 2}], ids=str)
def test_the_spool_carries_weights_on_disk_too(tmp_path, monkeypatch, params, language):
    """Several runs, some without weights; rows that wait for their language; and the same model in one piece."""
    texts, labels, weights = documents()
    weights[:100] = 1.0
    whole = Tagger(language=language, ranker_params=params).fit(texts, labels, sample_weight=weights)
    monkeypatch.setattr(spool, "RUN_ENTRIES", 200)
    monkeypatch.setattr(training, "HELD_ROWS", 110)
    learner = Tagger(language=language, ranker_params=params)
    trained = Training(learner, folder=tmp_path)
    for start in range(0, len(texts), 50):
        part = slice(start, start + 50)
        trained.add(texts[part], labels[part], None if start < 100 else weights[part])
    trained.learn()
    assert learner.state_hash() == whole.state_hash()
    assert learner.n_rows == np.ceil(weights).sum()
    assert whole.state_hash() != Tagger(language=language, ranker_params=params).fit(texts, labels).state_hash()


def test_pruning_keeps_the_weights_of_the_rows(tmp_path):
    texts, labels, weights = documents()
    texts = [f"{text} rare{number}" for number, text in enumerate(texts)]
    hashes = set()
    for folder in (None, tmp_path):
        learner = tagger()
        trained = Training(learner, folder=folder, max_bytes=60_000)
        trained.add(texts, labels, weights)
        trained.learn()
        assert trained.dropped["terms"]
        assert learner.n_rows == np.ceil(weights).sum()
        hashes.add(learner.state_hash())
    assert len(hashes) == 1


def test_copies_of_a_text_stay_on_one_side_of_the_calibration():
    """1,000 rows or more hold some out; the rows held out are the same with and without weights."""
    texts, labels, weights = documents(1200)
    plain, weighted = tagger(), tagger()
    plain.fit(texts, labels)
    weighted.fit(texts, labels, sample_weight=np.maximum(weights, 0.5))
    assert plain.ranker.calibration_.n_rows == weighted.ranker.calibration_.n_rows


def test_balanced_labels():
    texts, labels, _ = documents()
    one_each = [names[:1] or ["none"] for names in labels]
    balanced = tagger(class_weight="balanced").fit(texts, one_each)
    names = [name for (name,) in one_each]
    by_hand = [len(names) / (len(set(names)) * names.count(name)) for name in names]
    assert balanced.state_hash() == tagger().fit(texts, one_each, sample_weight=by_hand).state_hash()
    balanced.learn("apple pie", ["apple", "pie"])  # corrections have several labels, and are not balanced
    with pytest.raises(ValueError, match="class_weight='balanced' needs one label per row, but row"):
        tagger(class_weight="balanced").fit(texts, labels)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all labels in memory"):
        Training(tagger(class_weight="balanced"))


def test_a_bad_weight_is_refused_before_anything_is_learned():
    learner = tagger().fit(["a b", "c d"], [["x"], ["y"]])
    before = learner.state_hash()
    with pytest.raises(ValueError, match=r"a weight must be a number from 0 to 1,000, got -1\.0 for row 0"):
        learner.learn("a b", ["x"], sample_weight=-1)
    with pytest.raises(ValueError, match="there are 2 rows but 1 weights"):
        learner.learn_many(["a", "b"], [["x"], ["x"]], sample_weight=[1])
    with pytest.raises(ValueError, match="all weights are zero"):
        learner.fit(["a", "b"], [["x"], ["x"]], sample_weight=[0, 0])
    with pytest.raises(ValueError, match=r"a rocchio ranker counts rows, so weights must be whole numbers, got 0\.5"):
        Tagger("rocchio").fit(["a", "b"], [["x"], ["x"]], sample_weight=[0.5, 1])
    assert learner.state_hash() == before
