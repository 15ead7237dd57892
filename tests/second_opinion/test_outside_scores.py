"""The scores of a service change the order of labels, and corrections teach how much they count."""

import random

import numpy as np
import pytest

from abound import Tagger, merge
from abound.second_opinion.blend import FEATURES, WEIGHTS
from abound.server import Replica
from abound.server.opinions import MOST, by_number
from abound.store.journal.records import Learn, MergeLabels, RenameLabel

LABELS = [f"l{number}" for number in range(8)]
AT = FEATURES.index("outside: score")
TEXT = "w1 w2 xl2 xl2"


@pytest.fixture(scope="module")
def rows():
    draw = random.Random(2)
    labels = [draw.choice(LABELS) for _ in range(200)]
    return [" ".join([*draw.choices(["w1", "w2", "w3", "w4"], k=3), f"x{label}"]) for label in labels], labels


@pytest.fixture
def tagger(rows):
    return Tagger().fit(rows[0], [[label] for label in rows[1]])


def number(tagger, label):
    return tagger.ranker.labels_.id_of(label)


def test_scores_change_the_order_but_not_the_scale(tagger):
    before = tagger.rank(TEXT, 8)
    with tagger.hearing({TEXT: {number(tagger, "l5"): 50.0}}):
        after, other = tagger.rank(TEXT, 8), tagger.rank("w1 xl3", 8)
    assert before[0].label == "l2"
    assert [entry.label for entry in after[:2]] == ["l5", "l2"]
    assert [entry.score for entry in after] == [entry.score for entry in before]
    assert all(entry.probability is not None for entry in after)
    assert tagger.rank(TEXT, 8) == before
    assert other == tagger.rank("w1 xl3", 8)
    assert tagger.outside_opinion is None  # a ranking changes nothing


def test_what_was_learned_is_saved_and_merged(tagger, rows, tmp_path):
    for text, label in zip(*rows, strict=True):
        scores = {number(tagger, one): 2.0 * (one == label) for one in LABELS}
        with tagger.knowing(text, None, scores):
            tagger.learn(text, [label])
    weights = tagger.outside_opinion.blend.weights
    assert weights[AT] > WEIGHTS[AT]
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.outside_opinion.blend.weights, weights)
    merged = merge(loaded, Tagger().fit(["a b", "c d"], [["a"], ["c"]]))
    np.testing.assert_array_equal(merged.outside_opinion.blend.weights, weights)
    assert loaded.fit(["a b", "c d"], [["a"], ["c"]]).outside_opinion is None


def test_texts_without_scores_teach_nothing_about_them(tagger, rows):
    tagger.learn(rows[0][0], [rows[1][0]])
    with tagger.knowing(rows[0][0], None):
        tagger.learn(rows[0][0], [rows[1][0]])
    assert tagger.outside_opinion is None


def test_labels_are_those_of_now(tagger):
    replica = Replica(tagger, journal="test", sequence=0)
    replica.apply(1, RenameLabel("l1", "new"))
    replica.apply(2, MergeLabels("l3", "l4"))
    found = by_number(replica.labels, {"l1": 2.0, "l3": 1.0, "l4": 5.0, "gone": 1.0, "l6": 1e9})
    numbers = {label: number(tagger, label) for label in LABELS if label in tagger.ranker.labels_}
    assert found[numbers["l3"]] == found[numbers["l4"]] == 5.0
    assert found[numbers["l6"]] == MOST
    assert sorted(found.values()) == [2.0, 5.0, 5.0, MOST]


def test_replicas_agree(rows):
    def replica():
        return Replica(Tagger().fit(rows[0], [[label] for label in rows[1]]), journal="test", sequence=0)

    records = [
        Learn(text, added=(label,), opinion={one: float(one == label) for one in LABELS})
        for text, label in zip(rows[0][:20], rows[1][:20], strict=True)
    ]
    states = []
    for apply_to in (replica(), replica()):
        for sequence, record in enumerate(records, 1):
            apply_to.apply(sequence, record)
        states.append(apply_to.state_hash())
    without = replica()
    for sequence, record in enumerate(records, 1):
        without.apply(sequence, Learn(record.text, added=record.added))
    assert states[0] == states[1] != without.state_hash()
