"""The figures behind the pictures, held against hand-made ones and against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import precision_recall_curve

from abound import Ranking, Tagger
from abound.metrics import evaluate, judge
from abound.metrics.bootstrap import mean_bands
from abound.plots.confusions import confusion_figures, contested_words, find_confusions
from abound.plots.frequency import label_frequency_figures
from abound.plots.memory import memory_figures
from abound.plots.progressive import learning_curve_figures, rank_then_learn
from abound.plots.ranks import precision_at_k_figures
from abound.plots.thresholds import precision_recall_figures


@pytest.fixture(scope="module")
def judged():
    """A truth with a row without labels, and a ranking of all labels of every row."""
    rng = np.random.default_rng(3)
    truth = (rng.random((60, 8)) < 0.25).astype(int)
    truth[7] = 0
    scores = rng.random((60, 8)) + 0.4 * truth
    indices = np.argsort(-scores, axis=1).astype(np.int32)
    return sp.csr_array(truth), Ranking(indices, np.take_along_axis(scores, indices, 1), tuple("abcdefgh"))


def test_precision_at_k_is_what_the_measures_say(judged):
    truth, ranking = judged
    rows = precision_at_k_figures(truth, ranking)
    expected = evaluate(truth, ranking, [f"{name}@{k}" for name in "PR" for k in range(1, 9)])
    for row in rows:
        assert row["P"] == pytest.approx(expected[f"P@{row['k']}"])
        assert row["R"] == pytest.approx(expected[f"R@{row['k']}"])
        assert row["P_low"] <= row["P"] <= row["P_high"] <= 1
        assert row["P"] <= row["best_possible_P"] + 1e-12
    assert rows[0]["best_possible_P"] == 1.0
    n_true = truth.sum(axis=1)
    assert rows[-1]["best_possible_P"] == pytest.approx(n_true[n_true > 0].mean() / 8)


def test_precision_against_recall_is_scikit_learns(judged):
    truth, ranking = judged
    kept = np.flatnonzero(truth.sum(axis=1))
    hits = np.take_along_axis(truth.toarray(), ranking.indices, 1)[kept].ravel()
    precision, recall, _ = precision_recall_curve(hits, ranking.scores[kept].ravel())
    points = set(zip(recall.round(9).tolist(), precision.round(9).tolist(), strict=True))
    rows = precision_recall_figures(truth, ranking)
    assert all((round(row["recall"], 9), round(row["precision"], 9)) in points for row in rows)
    assert rows[-1]["recall"] == 1.0
    assert all(row["low"] <= row["precision"] <= row["high"] for row in rows)
    assert [row["threshold"] for row in rows] == sorted((row["threshold"] for row in rows), reverse=True)


def test_labels_that_no_ranking_has_lower_recall():
    truth = sp.csr_array([[1, 1, 0], [0, 0, 1]])
    ranking = Ranking(np.array([[0], [2]], np.int32), np.array([[2.0], [1.0]]), "abc")
    assert precision_recall_figures(truth, ranking)[-1]["recall"] == pytest.approx(2 / 3)
    nothing = Ranking(np.array([[2], [0]], np.int32), np.array([[2.0], [1.0]]), "abc")
    assert precision_recall_figures(truth, nothing) == []


def test_labels_are_grouped_by_how_often_they_were_learnt():
    truth = sp.csr_array([[1, 1, 0, 0, 1], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]])
    ranking = Ranking(np.array([[1, 0], [0, 2], [3, -1]], np.int32), np.zeros((3, 2)), "abcd")
    rows = label_frequency_figures(truth, ranking, np.array([1, 3, 2, 9]), k=2)
    shown = [(row["rows_from"], row["rows_to"], row["n"], row["labels"], row["found"]) for row in rows]
    # Label 4 was never learnt; 0 once; 1 and 2 two or three times, found in two of three places; 3 nine times.
    assert shown == [(0, 0, 1, 1, 0.0), (1, 1, 1, 1, 1.0), (2, 3, 3, 2, pytest.approx(2 / 3)), (8, 15, 1, 1, 1.0)]
    for row in rows:
        assert -1e-9 <= row["low"] <= row["found"] <= row["high"] + 1e-9
        assert row["high"] <= 1 + 1e-9
    assert label_frequency_figures(truth, ranking, np.array([1, 3, 2, 9]), k=1)[1]["found"] == 0.0


def test_label_frequency_takes_what_other_figures_take():
    ranking, counts = Ranking(np.array([[0, 1], [1, 0]]), np.ones((2, 2)), "abc"), np.array([1, 3, 2])
    damaged = sp.csr_array([[1, 0, 1], [0, 1, 0]])
    damaged.indices[0] = 10**6
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        label_frequency_figures(damaged, ranking, counts)
    with pytest.raises(ValueError, match="0 and 1 only"):
        label_frequency_figures([[2, 0, 1], [0, 1, 0]], ranking, counts)
    with pytest.raises(ValueError, match="truth has 3 rows"):
        label_frequency_figures([[1, 0, 1], [0, 1, 0], [0, 0, 1]], ranking, counts)
    with pytest.raises(TypeError, match="indices and scores"):
        label_frequency_figures([[1, 0, 1], [0, 1, 0]], None, counts)
    repeated = sp.csr_array((np.ones(3, np.int8), [0, 0, 1], [0, 2, 3]), shape=(2, 3))  # counts once
    assert [row["n"] for row in label_frequency_figures(repeated, ranking, counts)] == [1, 1]


def test_bands_hold_the_mean_and_narrow_with_rows():
    few, many = np.tile([[0.0], [1.0]], (10, 1)), np.tile([[0.0], [1.0]], (1000, 1))
    widths = []
    for rows in (few, many):
        mean, low, high = mean_bands(rows)
        assert low[0] < mean[0] == 0.5 < high[0]
        widths.append(float(high[0] - low[0]))
    assert widths[1] < widths[0] / 5


STREAM = [("red apple", ["fruit"]), ("fast car", ["vehicle"]), ("green apple", ["fruit", "green"])] * 60


def test_rows_are_ranked_before_they_are_learnt():
    texts, labels = [text for text, _ in STREAM], [names for _, names in STREAM]
    tagger, slow = Tagger(), Tagger()
    truth, ranking = rank_then_learn(tagger, texts, labels, k=2)
    whole = Tagger()
    whole.learn_many(texts, labels)
    assert tagger.state_hash() == whole.state_hash()
    assert truth.shape == (180, 3)
    assert ranking.indices[0].tolist() == [-1, -1]
    for row, (text, names) in enumerate(STREAM[:50]):  # the first lots hold one row each
        before = [entry.label for entry in slow.rank(text, 2)]
        assert [ranking.names[label] for label in ranking.indices[row] if label >= 0] == before
        slow.learn_many([text], [names])


def test_a_learning_curve_is_the_mean_of_each_window():
    hits = np.array([0] * 50 + [1, 0] * 25)
    ranking = Ranking(np.where(hits, 0, 1)[:, None].astype(np.int32), np.ones((100, 1)), "ab")
    truth = sp.csr_array(np.tile([1, 0], (100, 1)))
    rows = learning_curve_figures(truth, ranking, ["P@1"])
    assert [row["P@1"] for row in rows] == [0.0, 0.0, pytest.approx(13 / 25), pytest.approx(12 / 25)]
    assert [(row["rows_from"], row["rows_to"]) for row in rows] == [(1, 25), (26, 50), (51, 75), (76, 100)]
    half = 1.96 * np.sqrt(13 / 25 * 12 / 25 / 25)
    assert rows[2]["P@1_high"] - rows[2]["P@1"] == pytest.approx(half)


def test_sizes_are_sorted_by_bytes():
    truth = sp.csr_array([[1, 0], [0, 1]])
    good, bad = (Ranking(np.array(i, np.int32), np.ones((2, 1)), "ab") for i in ([[0], [1]], [[0], [0]]))
    rows = memory_figures([(9, 300, judge(truth, good)), (1, 100, judge(truth, bad))], "P@1")
    assert [(row["d_max"], row["bytes"], row["value"]) for row in rows] == [(1, 100, 0.5), (9, 300, 1.0)]


def test_confused_labels_are_found_with_the_words_they_fight_over():
    texts = ["mint tea", "mint coin", "green tea", "gold coin", "iron bar"] * 10
    labels = [["herb"], ["money"], ["herb"], ["money"], ["metal"]] * 10
    tagger = Tagger(ngrams=1).fit(texts, labels)
    found = find_confusions(tagger, ["mint gold", "mint gold", "mint tea"], [["herb"], ["herb"], ["herb"]])
    assert [(pair.true, pair.given, pair.rows) for pair in found] == [("herb", "money", 2)]
    assert "mint" in [word for word, _, _ in found[0].words]
    assert {row["words"][0]["word"] for row in confusion_figures(found)} <= {"mint", "gold"}
    tagger.label_names = {"herb": ["a herb"]}
    assert find_confusions(tagger, ["mint gold"], [["herb"]])[0].true == "a herb"
    assert find_confusions(tagger, ["mint gold"], [["never learnt"]]) == []
    two = find_confusions(tagger, ["mint tea coin"], [["herb", "metal"]])  # herb is right, and took no place
    assert [(pair.true, pair.given) for pair in two] == [("metal", "money")]


def test_a_pair_of_words_stands_for_its_words():
    tagger = Tagger().fit(["new york", "york minster"] * 5, [["a"], ["b"]] * 5)
    words = [word for word, _, _ in contested_words(tagger, ["new york minster"], "a", "b")]
    assert words
    for number, word in enumerate(words):
        assert not any(set(word.split()) & set(other.split()) for other in words[:number])
