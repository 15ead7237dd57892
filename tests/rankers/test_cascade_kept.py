"""A cascade that was saved, pickled, cut down or pruned goes on as before; a damaged one is refused."""

import pickle

import numpy as np
import pytest

import abound
from abound import Cascade, Tagger
from abound.errors import DamagedModel
from abound.rankers import auto
from tests.rankers.cascade_forms import BOTH, FEW, MANY, TRIAL, form_of, forms, growing, learn, rejections
from tests.store.damage import broken, with_field

pytestmark = pytest.mark.kernel


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [BOTH, FEW, MANY])
@pytest.mark.parametrize("how", ["saved", "pickled", "compacted"])
def test_what_is_kept_ranks_and_learns_on_equally(form, how, tmp_path):
    ranker, (X, Y) = forms()[form], growing(120, seed=3, every=3)
    if how == "saved":
        ranker.save(tmp_path / "model")
        kept = abound.load(tmp_path / "model")
    else:
        kept = pickle.loads(pickle.dumps(ranker))  # noqa: S301  our own bytes
    if how == "compacted":
        kept.compact()
    assert form_of(kept) == form
    assert kept.get_params() == ranker.get_params()
    assert kept.state_hash() == ranker.state_hash()
    assert list(kept.rank(X, 50)) == list(ranker.rank(X, 50))
    assert (kept.n_edges_, kept.n_learned) == (ranker.n_edges_, ranker.n_learned)
    for part in (slice(0, 5), slice(5, 120)):  # past the trial, and to more labels than are few
        learn(kept, X[part], Y[part], rejections(Y)[part])
        learn(ranker, X[part], Y[part], rejections(Y)[part])
        assert kept.state_hash() == ranker.state_hash()
        assert list(kept.rank(X, 50)) == list(ranker.rank(X, 50))
    assert form_of(kept) == form_of(ranker) != BOTH


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [BOTH, FEW, MANY])
def test_extreme_values_are_kept(form, tmp_path):
    ranker = forms()[form]
    for value in (1e-30, 3e38, 1e20):
        learn(ranker, [[value, 3e38]], [["a", "b"]], [["label 0"]])
        learn(ranker, [[value, value]], [["b"]])
    ranker.save(tmp_path / "model")
    assert abound.load(tmp_path / "model").state_hash() == ranker.state_hash()


def test_a_model_of_a_longer_trial_decides_at_its_next_row(monkeypatch, tmp_path):
    X, Y = growing()
    Cascade().partial_fit(X[:100], Y[:100]).save(tmp_path / "model")
    monkeypatch.setattr(auto, "TRIAL_ROWS", TRIAL)
    chunk, single = abound.load(tmp_path / "model"), abound.load(tmp_path / "model")
    chunk.partial_fit(X[100:], Y[100:])
    for row in range(100, 150):
        single.partial_fit(X[[row]], Y[row : row + 1])
        assert form_of(single) == FEW
    assert chunk.state_hash() == single.state_hash()


@pytest.mark.usefixtures("short_trial")
def test_a_smaller_d_max_at_load_keeps_fewer_edges_and_ranks_like_it(tmp_path):
    X, _ = growing(50, seed=2)
    for form, ranker in forms().items():
        ranker.save(tmp_path / form)
        small, whole = abound.load(tmp_path / form, d_max=2), abound.load(tmp_path / form)
        assert form_of(small) == form
        if form != FEW:
            assert small.n_edges_ < whole.n_edges_ / 1.5
        assert list(small.rank(X, 9)) == list(whole.set_params(d_max=2).rank(X, 9))
        assert small.n_pairs_ == whole.n_pairs_
        learn(small, *growing(20, seed=5)).save(tmp_path / f"{form} again")
        assert abound.load(tmp_path / f"{form} again").state_hash() == small.state_hash()


def test_the_same_rows_give_the_same_bytes(tmp_path):
    X, Y = growing()
    for few_labels in (5, 1000):
        first, second = (Cascade(few_labels=few_labels).fit(X, Y) for _ in range(2))
        first.save(tmp_path / f"{few_labels}-1")
        second.compact()
        second.save(tmp_path / f"{few_labels}-2")
        one, other = ({p.name: p.read_bytes() for p in (tmp_path / f"{few_labels}-{i}").iterdir()} for i in (1, 2))
        assert one == other


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize(
    ("form", "key", "change", "message"),
    [
        (MANY, "edges", with_field("label", 3, 10_000), "a label that does not exist"),
        (MANY, "edges", with_field("label", 3, -1), "a label that does not exist"),
        (MANY, "edges", with_field("weight", 0, np.nan), "negative or infinite weight"),
        (MANY, "edges", with_field("weight", 1, 1e9), "not sorted"),
        (MANY, "edges", with_field("correction", 1, np.inf), "a correction is not a finite number"),
        (MANY, "edges", with_field("slope", 1, np.nan), "a slope is not a finite number"),
        (MANY, "edges", with_field("slope", 1, -1.0), "outside its limits"),
        (MANY, "edges", lambda a: np.repeat(a, 2), "does not begin at 0 and end"),
        (MANY, "edges", lambda a: a.view([("label", "<i4"), ("weight", "<f4")]), "have the wrong type"),
        (MANY, "edge_indptr", with_field(None, 1, -5), "indptr decreases"),
        (MANY, "edge_indptr", with_field(None, 1, 1 << 40), "indptr decreases or exceeds"),
        (MANY, "edge_indptr", lambda a: a[:-1], "disagree about the number of features"),
        (MANY, "feature_totals", with_field(None, 0, -1.0), "negative or infinite total"),
        (MANY, "feature_totals", with_field(None, 0, np.inf), "negative or infinite total"),
        (MANY, "feature_ratings", with_field("log", 0, np.nan), "a rating is not a finite number"),
        (MANY, "feature_ratings", with_field("log", 0, 700.0), "outside its limits"),
        (MANY, "feature_ratings", with_field("slope", 0, -1.0), "outside its limits"),
        (MANY, "feature_ratings", lambda a: a[:-1], "disagree about the number of features"),
        (MANY, "feature_ratings", lambda a: a.view(np.int64), "have the wrong type"),
        (MANY, "rows_learnt", with_field(None, 1, 0), "neither an index nor pairs"),
        (MANY, "rows_learnt", with_field(None, 0, -1), "rows_learnt"),
        (MANY, "rows_learnt", with_field(None, 1, 2), "rows_learnt"),
        (MANY, "rows_learnt", lambda a: a[:1], "does not hold what a Cascade needs"),
        (BOTH, "edges", with_field("label", 3, 10_000), "a label that does not exist"),
        (BOTH, "pair_labels", with_field(None, 0, 10_000), "a label outside the label set"),
        (FEW, "pair_labels", with_field(None, 0, -1), "a label outside the label set"),
        (FEW, "pair_labels", with_field(None, 1, 0), "not in order"),
        (FEW, "pair_weights", with_field(None, 0, np.nan), "a weight is not a finite number"),
        (FEW, "pair_weights", lambda a: a[:-1], "numbers of weights"),
        (FEW, "pair_slopes", with_field(None, 0, -1.0), "negative or not finite"),
        (FEW, "pair_slopes", with_field(None, 0, np.inf), "negative or not finite"),
        (FEW, "pair_slopes", lambda a: a[:-1], "do not match the labels"),
        (FEW, "pair_slopes", lambda a: a.astype(np.float64), "do not match the labels"),
        (FEW, "pair_indptr", with_field(None, 1, -5), "negative length"),
        (FEW, "pair_indptr", with_field(None, 1, 1 << 40), "negative length"),
        (FEW, "pair_indptr", lambda a: a[:-1], "do not span the pairs"),
        (FEW, "pair_indptr", lambda a: a.astype(np.int32), "does not hold what a Cascade needs"),
    ],
)
def test_arrays_that_a_kernel_could_trip_over_are_refused(form, key, change, message, tmp_path):
    forms()[form].save(tmp_path / "model")
    broken(tmp_path / "model", key, change)
    with pytest.raises(DamagedModel, match=message):
        abound.load(tmp_path / "model", verify=False)


# -- as a tagger's ranker --------------------------------------------------------------------------


def texts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    labels = [[f"label {label}" for label in rng.choice(20, size=rng.integers(1, 3), replace=False)] for _ in range(n)]
    return [" ".join(f"{name[6:]}word rare{rng.integers(4000)}" for name in names) for names in labels], labels


@pytest.mark.parametrize(("few_labels", "trial", "form"), [(1000, 100, FEW), (5, 100, MANY), (1000, 10**6, BOTH)])
def test_a_tagger_is_pruned_in_every_form(few_labels, trial, form, monkeypatch, tmp_path):
    monkeypatch.setattr(auto, "TRIAL_ROWS", trial)
    tagger = Tagger("cascade", ranker_params={"few_labels": few_labels, "candidates": 20}, min_count=1)
    tagger.learn_many(*texts())
    assert form_of(tagger.ranker) == form
    before = [[(e.label, e.score) for e in entries] for entries in tagger.rank_many([f"{i}word" for i in range(20)])]
    size = tagger.ranker.n_pairs_, tagger.n_edges
    terms = tagger.n_features
    budget = int(terms * 60)
    gone = tagger.prune(budget)
    assert 0 < gone["terms"] < terms
    assert gone["terms"] == terms - tagger.n_features
    assert gone["edges"] == size[1] - tagger.n_edges
    assert tagger.ranker.n_pairs_ < size[0]
    assert (tagger.n_edges < size[1]) == (form != FEW)
    # what is left was left as it was
    after = [[(e.label, e.score) for e in entries] for entries in tagger.rank_many([f"{i}word" for i in range(20)])]
    assert after == before
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.state_hash() == tagger.state_hash()
    more = texts(100, seed=1)
    tagger.learn_many(*more)
    loaded.learn_many(*more)
    assert loaded.state_hash() == tagger.state_hash()
    assert form_of(tagger.ranker) == form
