"""`Tagger.evaluate`: the figures of rankings, probabilities and labels, and the table of labels."""

import csv
import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from abound import Tagger
from abound.metrics import evaluate, expected_calibration_error
from abound.tagger import LabelQuality
from abound.tagger.evaluation import NothingToMeasure
from abound.tagger.label_quality import COLUMNS, read_quality, write_quality
from abound.tagger.tagger import CHUNK

WORDS = ["apple", "car", "sauce", "track", "river", "violin"]
NAMES = ["fruit", "vehicle", "cooking", "sport", 7, "music"]


def stream(n, seed):
    """Texts of some of six words among others; each label of a word is missing now and then."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = rng.choice(6, rng.integers(1, 3), replace=False)
        noise = [f"w{word}" for word in rng.integers(0, 40, 4)]
        texts.append(" ".join([*(WORDS[i] for i in chosen), *noise]))
        labels.append([NAMES[i] for i in chosen if rng.random() < 0.8] or [NAMES[rng.integers(6)]])
    return texts, labels


@pytest.fixture(scope="module")
def tagger():
    return Tagger(ranker_params={"few_labels": 0}).fit(*stream(600, 0), label_names={"fruit": "Fruit of all kinds"})


@pytest.fixture(scope="module")
def evaluation(tagger):
    return tagger.evaluate(*stream(300, 1))


def test_metrics_are_those_of_the_ranking(tagger, evaluation):
    texts, labels = stream(300, 1)
    names = ["P@1", "P@5", "MRR", "PSP@3", "Coverage"]
    plain = evaluate(
        tagger.truth(labels),
        tagger.rank_arrays(texts, 100),
        names,
        label_counts=tagger.label_counts,
        n_train_rows=tagger.n_rows,
    )
    found = evaluation.metrics(names)
    assert {name: found[name].value for name in names} == plain
    assert all(low <= value <= high for value, low, high in found.values())


def test_k_limits_the_ranks_of_metrics_but_not_the_assigned_labels(tagger, evaluation):
    texts, labels = stream(300, 1)
    short = tagger.evaluate(texts, labels, k=1)
    assert short.metrics(["MRR"])["MRR"].value == short.metrics(["P@1"])["P@1"].value
    assert short.metrics(["MRR"])["MRR"].value < evaluation.metrics(["MRR"])["MRR"].value
    assert short.per_label() == evaluation.per_label()
    for k in (0, 2.0, "3"):
        with pytest.raises(ValueError, match="k must be a whole number"):
            tagger.evaluate(texts, labels, k=k)


def test_assigned_labels_are_those_of_assign(tagger, evaluation):
    texts, labels = stream(300, 1)
    assigned = [[entry.label for entry in row] for row in tagger.assign_many(texts)]
    by_label = {row.label: row for row in evaluation.per_label()}
    for label in NAMES:
        given, true = [label in row for row in assigned], [label in row for row in labels]
        right = sum(a and t for a, t in zip(given, true, strict=True))
        row = by_label[label]
        assert (row.support, row.assigned) == (sum(true), sum(given))
        assert row.precision == pytest.approx(right / sum(given))
        assert row.recall == pytest.approx(right / sum(true))
    quality = evaluation.assigned_quality()
    rows = [(set(a), set(t)) for a, t in zip(assigned, labels, strict=True)]
    assert quality.f1 == pytest.approx(np.mean([2 * len(a & t) / (len(a) + len(t)) for a, t in rows]))
    assert quality.precision == pytest.approx(sum(len(a & t) for a, t in rows) / sum(len(a) for a, _ in rows))
    assert quality.recall == pytest.approx(sum(len(a & t) for a, t in rows) / sum(len(t) for _, t in rows))
    assert quality.per_text == pytest.approx(np.mean([len(a) for a, _ in rows]))


def test_average_precision_orders_texts_by_probability(tagger, evaluation):
    texts, labels = stream(300, 1)
    ranked, by_score = tagger.rank_many(texts, 20), 0
    for row in evaluation.per_label():
        true = [row.label in names for names in labels]
        for value in ("probability", "score"):
            values = [
                {entry.label: getattr(entry, value) for entry in entries}.get(row.label, -9) for entries in ranked
            ]
            same = average_precision_score(true, values) == pytest.approx(row.average_precision)
            assert same or value == "score"
            by_score += same and value == "score"
    assert by_score < len(NAMES)


def test_labels_come_worst_first_with_their_names(evaluation):
    rows = evaluation.per_label()
    assert [(row.f1, -row.support) for row in rows] == sorted((row.f1, -row.support) for row in rows)
    assert [row.name for row in rows if row.label == "fruit"] == ["Fruit of all kinds"]
    assert all(row.name is None for row in rows if row.label != "fruit")
    confused = [row for row in rows if row.confused_rows]
    assert confused
    assert all(row.confused_with in NAMES and row.confused_with != row.label for row in confused)


def test_the_calibration_error_is_that_of_the_first_ten(tagger, evaluation):
    texts, labels = stream(300, 1)
    ranking = tagger.rank_arrays(texts, 10)
    shown = ranking.indices >= 0
    right = np.array([[name in row for name in given] for given, row in zip(ranking.labels, labels, strict=True)])
    wanted = expected_calibration_error(ranking.probabilities[shown], right[shown])
    assert evaluation.calibration_error == pytest.approx(wanted, abs=1e-12)
    assert len(evaluation.calibration_bins(5)) == 5


def test_without_probabilities_the_first_label_counts_as_assigned():
    tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    evaluation = tagger.evaluate(["an apple", "a car and an apple", "nothing known"], [["fruit"], ["vehicle"], ["x"]])
    assert not evaluation.has_probabilities
    assert evaluation.calibration_error is None
    assert evaluation.calibration_bins() == []
    assert evaluation.assigned.sum(axis=1).tolist() == [1, 1, 0]
    assert {row.label: (row.support, row.assigned) for row in evaluation.per_label()}["x"] == (1, 0)


def test_texts_without_labels_are_left_out_and_unknown_labels_keep_their_names(tagger):
    texts = ["apple", "car w1", "unseen", "violin", "apple"]
    evaluation = tagger.evaluate(texts, [["new one", "fruit"], [], ["new two"], ["new one", 7], [99]])
    assert (evaluation.n_rows, evaluation.n_labelled, evaluation.n_unknown) == (5, 4, 2)
    rows = {row.label: row for row in evaluation.per_label()}
    assert [(label, rows[label].support, rows[label].assigned) for label in ("new one", "new two", 99, 7)] == [
        ("new one", 2, 0),
        ("new two", 1, 0),
        (99, 1, 0),
        (7, 1, 0),
    ]
    assert rows["new one"].precision is None
    assert rows["new one"].f1 == 0
    assert rows["music"].support == 0
    assert rows["music"].recall is None
    assert rows["music"].average_precision is None
    assert rows["new one"].confused_with == "music"


def test_a_tagger_with_fewer_labels_than_ranks_is_measured(tagger):
    evaluation = tagger.evaluate(["apple", "car"], [["fruit", "unseen"], ["vehicle", "other"]])
    assert evaluation.metrics(["P@1", "P@8", "R@8"])["P@8"].value == 1 / 8  # six labels are known, two are not
    small = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    assert small.evaluate(["an apple"], [["fruit", "a", "b", "c"]]).metrics(["P@3"])["P@3"].value == 1 / 3


def test_many_texts_are_ranked_in_parts(tagger):
    texts, labels = stream(60, 2)
    n = 1 + CHUNK // len(texts)
    whole, one = tagger.evaluate(texts * n, labels * n), tagger.evaluate(texts, labels)
    assert whole.n_labelled == 60 * n > CHUNK
    assert [(row.label, row.support, row.f1) for row in whole.per_label()] == [
        (row.label, row.support * n, row.f1) for row in one.per_label()
    ]


def test_what_cannot_be_measured_is_refused(tagger):
    for texts, labels, words in (
        ([], [], "there are no rows"),
        (["a"], [[]], "none of the 1 rows has a label"),
        (["a"], [["b"], ["c"]], "1 texts but 2 lists"),
    ):
        with pytest.raises(ValueError, match=words):
            tagger.evaluate(texts, labels)
    assert issubclass(NothingToMeasure, ValueError)
    with pytest.raises(TypeError, match="got the string 'fruit'"):
        tagger.evaluate(["a"], ["fruit"])


# -- the table of labels -----------------------------------------------------------------------------


def test_the_table_can_be_written_and_read(evaluation, tmp_path):
    odd = LabelQuality('a "quoted", long\nlabel ä', None, 1, 0, None, 0.0, 0.0, 0.5, "other", 1)
    rows = [*evaluation.per_label(), odd]
    write_quality(rows, tmp_path / "q.csv")
    text = {"label": str, "confused_with": lambda name: None if name is None else str(name)}
    wanted = [dataclasses.replace(row, **{of: as_(getattr(row, of)) for of, as_ in text.items()}) for row in rows]
    assert read_quality(tmp_path / "q.csv") == wanted
    with open(tmp_path / "q.csv", encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    assert [float(row["f1"]) for row in cells] == [row.f1 for row in rows]
    assert tuple(cells[0]) == COLUMNS


def test_a_label_is_not_a_formula_in_the_table(evaluation, tmp_path):
    rows = [replace(evaluation.per_label()[0], label="=1+1", name="@roses", confused_with="-x")]
    write_quality(rows, tmp_path / "q.csv")
    assert "'=1+1,'@roses," in (tmp_path / "q.csv").read_text(encoding="utf-8")
    assert read_quality(tmp_path / "q.csv") == rows


def test_a_spreadsheet_may_have_saved_it(evaluation, tmp_path):
    write_quality(evaluation.per_label(), tmp_path / "q.csv")
    with open(tmp_path / "q.csv", encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    with open(tmp_path / "saved.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, [*reversed(COLUMNS), "remark"])
        writer.writeheader()
        writer.writerows({**row, "remark": "!"} for row in cells)
    assert read_quality(tmp_path / "saved.csv") == read_quality(tmp_path / "q.csv")


HEAD = ",".join(COLUMNS)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it has no column 'label'"),
        (b"label,support\na,3\n", "it has no column 'name'"),
        (f"{HEAD}\na,,3\n".encode(), "line 2 has too few cells"),
        (f"{HEAD}\n,,3,1,1,1,1,1,,0\n".encode(), "line 2 has no label"),
        (
            f"{HEAD}\na,,three,1,1,1,1,1,,0\n".encode(),
            "support in line 2 must be a whole number of at least 0, got",
        ),
        (f"{HEAD}\na,,3,-1,1,1,1,1,,0\n".encode(), "assigned in line 2 must be a whole number"),
        (f"{HEAD}\na,,3,1,1.5,1,1,1,,0\n".encode(), "precision in line 2 must be at most 1, got '1.5'"),
        (f"{HEAD}\na,,3,1,nan,1,1,1,,0\n".encode(), "precision in line 2 must be a number of at least 0, got 'nan'"),
        (f"{HEAD}\na,,3,1,1,1,,1,,0\n".encode(), "f1 in line 2 must be a number of at least 0, got ''"),
        (f"{HEAD}\na,,3,1,1,1,1,1,,0\na,,3,1,1,1,1,1,,0\n".encode(), "it has label 'a' twice"),
        (b"\xff\xfe\x00a", "it is not text in UTF-8"),
        (f"{HEAD}\n{'x' * 200_000},,3,1,1,1,1,1,,0\n".encode(), "field larger than"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a table that `abound evaluate --per-label-csv` writes: ") as caught:
        read_quality(path)
    assert words in str(caught.value)
