"""Models that were trained apart are joined by name."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from abound import MMP, Cascade, FeatureFocus, Frequency, Tagger, load, merge
from abound.components.votes import RatedVotes
from tests.rankers.streams import stream

FRUIT = [("a red apple and a green pear", ["fruit"]), ("apple pie with pear sauce", ["fruit", "cooking"])] * 6
CARS = [("the old car and the new lorry", ["vehicle"]), ("sauce on a red car", ["vehicle", "cooking"])] * 6
TAGGERS = {
    "feature-focus": {"ranker": "feature-focus"},
    "learned ratings": {"ranker": "feature-focus", "ranker_params": {"rating": "learned"}},
    "cascade": {"ranker": "cascade", "ranker_params": {"passes": 1, "few_labels": 0}},
    "cascade of few": {"ranker": "cascade", "ranker_params": {"passes": 1}},
    "frequency": {"ranker": "frequency"},
    "corpus": {"ranker": "feature-focus"},
    "parts of words": {"ranker": "feature-focus", "char_ngrams": (3, 4), "ngrams": 3},
    "waiting": {"ranker": "feature-focus", "min_count": 2},
}
RANKERS = [Cascade(few_labels=0), Cascade(), FeatureFocus(), FeatureFocus(rating="learned"), Frequency()]


def taught(case, rows):
    return Tagger(**TAGGERS[case]).fit(*zip(*rows, strict=True)) if rows else Tagger(**TAGGERS[case])


@pytest.mark.parametrize("case", TAGGERS)
def test_an_empty_tagger_changes_nothing(case):
    tagger, empty = taught(case, FRUIT), taught(case, [])
    before = tagger.state_hash()
    assert merge(tagger).state_hash() == before
    assert merge(tagger, empty).state_hash() == before
    if case != "waiting":  # only the first model's waiting terms are kept
        assert merge(empty, tagger).state_hash() == before
    assert tagger.state_hash() == before


@pytest.mark.parametrize("case", TAGGERS)
def test_a_merged_tagger_knows_what_both_know(case, tmp_path):
    one, other = taught(case, FRUIT), taught(case, CARS)
    hashes = one.state_hash(), other.state_hash()
    merged = merge(one, other)
    assert (one.state_hash(), other.state_hash()) == hashes
    assert merged.n_rows == 24
    assert {str(name): count for name, count in zip(merged.ranker.labels_.names, merged.label_counts, strict=True)} == {
        "fruit": 12,
        "cooking": 12,
        "vehicle": 12,
    }
    if case != "frequency":
        assert merged.rank("green apple pear")[0].label == "fruit"
        assert merged.rank("the new lorry")[0].label == "vehicle"
        explanation = merged.explain("red apple car", "fruit")
        ranked = {entry.label: entry.score for entry in merged.rank("red apple car")}
        assert explanation.score == pytest.approx(ranked["fruit"], rel=1e-12)
    merged.save(tmp_path)
    again = load(tmp_path)
    assert again.state_hash() == merged.state_hash()
    for tagger in (again, merged):
        tagger.learn("a quince", ["preserves"])
        if case not in ("frequency", "corpus", "waiting"):
            assert tagger.rank("quince")[0].label == "preserves"
    assert again.state_hash() == merged.state_hash()


def test_document_frequencies_add():
    one, other = taught("parts of words", FRUIT), taught("parts of words", CARS)
    merged = merge(one, other).encoder

    def counts(encoder):
        return {encoder.name(term): int(count) for term, count in enumerate(encoder.vocabulary.counts())}

    first, second = counts(one.encoder), counts(other.encoder)
    assert counts(merged) == {name: first.get(name, 0) + second.get(name, 0) for name in first | second}
    assert merged.vocabulary.n_texts == 24
    assert merged.vocabulary.n_distinct == one.encoder.vocabulary.n_distinct + other.encoder.vocabulary.n_distinct
    with_both = taught("parts of words", FRUIT + CARS).encoder
    assert counts(merged) == counts(with_both)
    text = ["the red apple and a new lorry"]
    for merged_part, part in zip(merged.rows(text), with_both.rows(text), strict=True):
        assert np.array_equal(merged_part, part)  # the first model's terms have their old numbers


def test_counts_that_only_add_merge_to_the_model_of_all_rows():
    X, Y = stream(300)
    X.data = np.ceil(X.data * 16) / 16  # sums of sixteenths have no rounding
    params = {"margin": None, "w_min": 0.0, "d_max": None}
    parts = [FeatureFocus(**params).fit(X[a:b], Y[a:b]) for a, b in ((0, 100), (100, 130), (130, 300))]
    assert merge(*parts).state_hash() == FeatureFocus(**params).fit(X, Y).state_hash()


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: f"{ranker.kind}")
def test_two_rankers_merge_to_the_same_scores_in_either_order(ranker):
    X, Y = stream(400)
    one, other = (type(ranker)(**ranker.params()).fit(X[a:b], Y[a:b]) for a, b in ((0, 180), (180, 400)))
    both, turned = merge(one, other), merge(other, one)
    assert isinstance(both, type(ranker))
    assert both.n_rows_seen_ == 400
    for here, there in zip(both.rank(X[:50], 20), turned.rank(X[:50], 20), strict=True):
        assert dict(here) == pytest.approx(dict(there), rel=1e-12)
    if ranker.kind != "frequency":
        assert both.score(X, Y) > one.score(X, Y) + 0.02


def test_labels_are_matched_by_name_whatever_their_numbers():
    X, Y = stream(200)
    Y = [row[:1] for row in Y]  # several labels of a row would be learnt in the order of their numbers
    names = sorted({name for row in Y for name in row})
    one = FeatureFocus().partial_fit(X[:100], Y[:100], classes=names)
    other = FeatureFocus().partial_fit(X[100:], Y[100:], classes=names[::-1])
    same = FeatureFocus().partial_fit(X[100:], Y[100:], classes=names)
    assert merge(one, other).state_hash() == merge(one, same).state_hash()


def test_a_narrower_ranker_joins_a_wider_one():
    one = FeatureFocus().fit(sp.csr_array([[1.0, 0.0, 1.0]]), [["a"]])
    other = FeatureFocus().fit(sp.csr_array([[0.0, 1.0]]), [["b"]])
    for merged in (merge(one, other), merge(other, one)):
        assert merged.n_features_in_ == 3
        assert merged.predict([[0, 1, 0], [0, 0, 1]]).tolist() == [["b"], ["a"]]


def test_names_for_people_are_joined():
    one, other = taught("feature-focus", FRUIT), taught("feature-focus", CARS)
    one.label_names = {"fruit": ["Fruit"], "cooking": ["Cooking"]}
    other.label_names = {"cooking": ["Cookery", "Cooking"], "vehicle": ["Vehicles"]}
    expected = {"fruit": ["Fruit"], "cooking": ["Cooking", "Cookery"], "vehicle": ["Vehicles"]}
    assert merge(one, other).label_names == expected
    assert one.label_names["cooking"] == ["Cooking"]


def test_a_young_cascade_takes_the_side_of_an_old_one(monkeypatch):
    X, Y = stream(300)
    young = Cascade(few_labels=1000).fit(X[:50], Y[:50])
    monkeypatch.setattr("abound.rankers.auto.TRIAL_ROWS", 100)
    few = Cascade(few_labels=1000).fit(X[50:], Y[50:])
    assert young.n_edges_
    assert not few.n_edges_
    for merged in (merge(young, few), merge(few, young)):
        assert not merged.n_edges_
        assert merged.n_pairs_ > 0
        assert merged.score(X, Y) > 0.8
    both = merge(young, young)
    assert not both.n_edges_  # together they have seen enough rows to know that labels are few
    # A model of many labels has let go of its pairs: the two have nothing in common.
    many = Cascade(few_labels=1000).fit(X[:20], Y[:20])
    many.set_components([many.component(RatedVotes)])
    with pytest.raises(ValueError, match="one model keeps votes and another a linear model"):
        merge(many, few)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (FeatureFocus(), FeatureFocus(w_min=0.2), r"but these differ in w_min \(0.01 and 0.2\)"),
        (FeatureFocus(), Frequency(), "got 'feature-focus' and 'frequency'"),
        (MMP(), MMP(), "rankers of kind 'mmp' cannot be merged"),
    ],
)
def test_what_cannot_be_merged_is_told(one, other, message):
    X, Y = stream(20)
    with pytest.raises(ValueError, match=message):
        merge(one.fit(X, Y), other.fit(X, Y))


def test_edges_that_do_not_match_the_rating_are_told():
    X, Y = stream(20)
    one, other = (FeatureFocus().fit(X, Y).set_params(rating="learned") for _ in range(2))
    with pytest.raises(ValueError, match="rating is 'learned', but the model was fitted without rating='learned'"):
        merge(one, other)


@pytest.mark.parametrize("ranker", [*RANKERS, Cascade(few_labels=0, candidates=5)], ids=str)
def test_a_ranker_that_is_merged_with_none_is_unchanged(ranker):
    X, Y = stream(100)
    X.data[:50] = 1e-6  # some pairs of the second stage have a negligible weight
    ranker = type(ranker)(**ranker.params()).partial_fit(X, Y)
    assert merge(ranker).state_hash() == ranker.state_hash()


def test_taggers_that_differ_are_told():
    one = Tagger().fit(["a b"], [["x"]])
    with pytest.raises(ValueError, match=r"these differ in ngrams \(2 and 1\)"):
        merge(one, Tagger(ngrams=1).fit(["a b"], [["x"]]))
    with pytest.raises(ValueError, match=r"these differ in ranker \('cascade' and 'frequency'\)"):
        merge(one, Tagger("frequency").fit(["a b"], [["x"]]))
    with pytest.raises(ValueError, match="a tagger and a ranker cannot be merged"):
        merge(one, FeatureFocus().fit([[1]], [["x"]]))
    with pytest.raises(TypeError, match="merge takes taggers or rankers, got str"):
        merge("model")


def test_columns_with_other_names_are_told():
    frames = [pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=columns) for columns in (["p", "q"], ["q", "p"])]
    one, other = (FeatureFocus().fit(frame, ["a", "b"]) for frame in frames)
    with pytest.raises(ValueError, match="columns have different names"):
        merge(one, other)
    assert merge(one, one).feature_names_in_.tolist() == ["p", "q"]


def test_parameters_of_fit_alone_may_differ():
    X, Y = stream(100)
    merged = merge(Cascade(shards=2, passes=2).fit(X, Y), Cascade(n_jobs=1, random_state=5).fit(X, Y))
    assert merged.n_rows_seen_ == 200
