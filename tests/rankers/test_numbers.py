"""Numbers at the ends of what can be said: every ranker learns them, ranks by finite scores, and can be kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import abound
from abound import Tagger
from abound.rankers import KINDS
from tests.rankers.streams import VARIANTS

ROWS = np.random.default_rng(0).random((40, 6))
LABELS = [[f"label {i % 4}", "common"] for i in range(40)]
LARGEST = float(np.finfo(np.float32).max)

CASES = {
    "smallest doubles": (np.full((40, 6), 5e-324), LABELS),
    "denormal singles": (ROWS * 1e-42, LABELS),
    "1e38": (ROWS * 1e38, LABELS),
    "the largest, again and again": (np.full((300, 2), LARGEST), [["a"], ["b"], ["c"]] * 100),
    "all sizes at once": (ROWS * [1e-40, 1e-30, 1.0, 1e10, 1e30, 3e38], LABELS),
    "one label": (ROWS, [["only"]] * 40),
    "no features": (sp.csr_array((40, 0)), LABELS),
    "empty rows": (np.zeros((40, 6)), LABELS),
    "negative values": (ROWS - 0.5, LABELS),
    "equal rows": (np.tile(ROWS[0], (40, 1)), LABELS),
}


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.mark.kernel
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_odd_numbers_are_learnt_ranked_and_kept(ranker, case, tmp_path):
    X, Y = CASES[case]
    ranker = clone(ranker).fit(X, Y).partial_fit(X, Y)
    ranking = ranker.rank(X, 3)
    assert np.isfinite(ranking.scores).all()
    assert len(ranker.predict(X)) == len(Y)
    ranker.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    assert loaded.state_hash() == ranker.state_hash()
    assert np.array_equal(loaded.rank(X, 3).scores, ranking.scores)


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_without_a_label_nothing_is_ranked_and_nothing_predicted(ranker, tmp_path):
    ranker = clone(ranker).fit(ROWS, [[]] * 40)
    ranker.save(tmp_path / "model")
    for each in (ranker, abound.load(tmp_path / "model")):
        assert [len(row) for row in each.rank(ROWS, 3)] == [0] * 40
        with pytest.raises(ValueError, match="no label has been learned"):
            each.predict(ROWS)
        each.partial_fit(ROWS, LABELS)
        assert len(each.predict(ROWS)) == 40


@pytest.mark.parametrize("value", [1e39, -1e39, np.inf, np.nan])
@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_numbers_beyond_are_refused_before_anything_is_learnt(ranker, value):
    ranker = clone(ranker).fit(ROWS, LABELS)
    before = ranker.state_hash()
    bad = ROWS.copy()
    bad[7, 3] = value
    with pytest.raises(ValueError, match=r"must fit into 32-bit floats|NaN|infinity|[Nn]egative"):
        ranker.partial_fit(bad, LABELS)
    assert ranker.state_hash() == before


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_tagger_is_kept_ranks_nothing_and_learns(kind, tmp_path):
    Tagger(kind).save(tmp_path / "model")
    tagger = abound.load(tmp_path / "model")
    assert tagger.rank("anything") == []
    tagger.learn("a red apple", ["fruit"])
    assert [entry.label for entry in tagger.rank("apple")] == ["fruit"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_that_has_only_a_name_is_ranked_by_a_finite_score(kind):
    tagger = Tagger(kind).fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]], label_names={"boat": "a boat"})
    entries = tagger.rank("a boat and an apple")
    assert np.isfinite([entry.score for entry in entries]).all()
    assert kind == "frequency" or "boat" in [entry.label for entry in entries]
