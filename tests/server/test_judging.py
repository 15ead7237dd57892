"""Decisions teach the probabilities and the bands of a replica, once each, before the text is learned."""

import numpy as np
import pytest

from abound import Bands, Tagger
from abound.server import Replica
from abound.store.journal.records import BandFeedback, Learn, MergeLabels, RetireLabel
from tests.test_tagger_bands import documents

TEXT = "apple pear plum apple"


def banded():
    tagger = Tagger().fit(*documents(100))
    tagger.bands = Bands(0.9)
    tagger.feedback_many(*documents(100, seed=1))
    return Replica(tagger)


def apply(replica, *records):
    for record in records:
        replica.check(record)
        replica.apply(replica.sequence + 1, record)
    return replica


def figures(replica):
    """Return the rows that taught the calibration, and the labels that taught the bands."""
    return replica.tagger.ranker.calibration_.n_rows, replica.tagger.bands.feedback[0]


@pytest.mark.parametrize(
    ("record", "n_labels"),
    [
        (Learn(TEXT, accepted=["fruit"], rejected=["chance"]), None),
        (Learn(TEXT, rejected=["chance"]), 1),
        (Learn(TEXT, added=["fruit"]), None),  # all labels of the ranking
        (Learn(TEXT, added=["never seen"]), 0),
        (BandFeedback("fruit", 0.5, "suggest", "apply", TEXT), 1),
        (BandFeedback("fruit", 0.5, "suggest", "hide", TEXT), 1),
        (BandFeedback("fruit", 0.5, "suggest", "apply"), 0),  # no text: it changes nothing
    ],
)
def test_a_decision_teaches_probabilities_and_bands_once(record, n_labels):
    replica = banded()
    (rows, labels), n_ranked = figures(replica), len(replica.rank(TEXT))
    wanted = n_ranked if n_labels is None else n_labels
    assert figures(apply(replica, record)) == (rows + bool(wanted), labels + wanted)


def test_the_text_is_judged_before_it_is_learned():
    learned, judged = banded(), banded()
    apply(learned, Learn(TEXT, rejected=["fruit"]))
    apply(judged, BandFeedback("fruit", 0.5, "apply", "hide", TEXT))
    for name, array in judged.tagger.ranker.calibration_.state().items():
        assert np.array_equal(learned.tagger.ranker.calibration_.state()[name], array)
    assert np.array_equal(learned.tagger.bands.thresholds, judged.tagger.bands.thresholds)
    assert learned.tagger.ranker.state_hash() != judged.tagger.ranker.state_hash()


@pytest.mark.parametrize("wanted", ["apply", "hide"])
def test_feedback_moves_a_probability_in_its_direction(wanted):
    replica = banded()
    before = {entry.label: entry for entry in replica.rank(TEXT)}["chance"]
    apply(replica, *[BandFeedback("chance", 0.5, "suggest", wanted, TEXT)] * 20)
    after = {entry.label: entry for entry in replica.rank(TEXT)}["chance"]
    assert after.score == before.score
    assert (after.probability > before.probability) == (wanted == "apply")


def test_a_rejected_label_raises_the_threshold_of_its_band():
    replica = banded()
    before = replica.tagger.bands.thresholds[0, 1]
    assert replica.tagger.rank_with_bands(TEXT)[0].band == "apply"
    apply(replica, Learn(TEXT, rejected=["fruit"]))
    assert replica.tagger.bands.thresholds[0, 1] == pytest.approx(before + 0.05 * 0.9)


def test_a_replica_without_hidden_labels_learns_what_a_tagger_learns():
    replica, tagger = banded(), banded().tagger
    texts, labels = documents(30, seed=2)
    for text, right in zip(texts, labels, strict=True):
        apply(replica, Learn(text, added=right))
        tagger.learn(text, right)
    assert replica.tagger.state_hash() == tagger.state_hash()


def test_labels_are_judged_as_they_are_shown():
    plain, merged = banded(), banded()
    apply(merged, RetireLabel("chance"), MergeLabels("fruit", "vehicle"))
    shown = [entry.label for entry in merged.rank(TEXT)]
    assert shown[0] == "vehicle"
    assert not {"fruit", "chance"} & set(shown)
    for replica in (plain, merged):
        apply(replica, Learn(TEXT, added=["vehicle"]))
    book = plain.labels.book
    records = {replica: replica.tagger.ranker.calibration_.records for replica in (plain, merged)}
    fruit, vehicle, chance = (book.id_of(label) for label in ("fruit", "vehicle", "chance"))
    before = banded().tagger.ranker.calibration_.records
    assert np.any(records[plain][fruit] != before[fruit])  # it was judged wrong
    assert np.array_equal(records[merged][fruit], before[fruit])  # as a part of the right label, it was not
    assert np.array_equal(records[merged][chance], before[chance])
    assert records[merged][vehicle, 0] > before[vehicle, 0]
