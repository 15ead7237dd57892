"""The Tagger cuts its rankings into bands, learns them from feedback, and keeps them."""

import random

import numpy as np
import pytest

from abound import Bands, Tagger
from abound.errors import DamagedModel
from abound.store import read_model, write_model

WORDS = {"fruit": "apple pear plum", "vehicle": "car lorry bus", "sport": "race goal team"}


def documents(n, seed=0):
    """Texts of one subject's words, and labels: the subject, and with every second text a label that nothing tells."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        subject = rng.choice(list(WORDS))
        text = " ".join(rng.choice(WORDS[subject].split()) for _ in range(4))
        rows.append((text, [subject] + (["chance"] if rng.random() < 0.5 else [])))
    return [text for text, _ in rows], [labels for _, labels in rows]


@pytest.fixture(scope="module")
def taught():
    tagger = Tagger().fit(*documents(100))
    tagger.bands = Bands(0.9)
    texts, labels = documents(300, seed=1)
    tagger.feedback_many(texts, labels)
    return tagger


def test_what_is_sure_is_applied_and_what_is_not_is_not(taught):
    found = {entry.label: entry for entry in taught.rank_with_bands("apple plum pear apple")}
    assert found["fruit"].band == "apply"
    assert found["fruit"].probability > 0.9
    assert found["chance"].band == "suggest"
    assert {found[label].band for label in ("vehicle", "sport") if label in found} <= {"hide"}
    ranked = taught.rank("apple plum pear apple")
    assert [(e.label, e.score, e.rank) for e in found.values()] == [(e.label, e.score, e.rank) for e in ranked]


def test_one_by_one_equals_many(taught):
    one = Tagger().fit(*documents(100))
    one.bands = Bands(0.9)
    texts, labels = documents(300, seed=1)
    for text, names in zip(texts, labels, strict=True):
        one.feedback(text, names)
    assert one.state_hash() == taught.state_hash()


def test_bands_are_kept_with_the_model(taught, tmp_path):
    taught.save(tmp_path / "m")
    loaded = Tagger.load(tmp_path / "m")
    assert loaded.state_hash() == taught.state_hash()
    assert loaded.rank_with_bands("a race car") == taught.rank_with_bands("a race car")
    loaded.feedback("a race car", ["sport"])
    assert loaded.state_hash() != taught.state_hash()
    plain = Tagger().fit(*documents(20))
    plain.save(tmp_path / "plain")
    assert Tagger.load(tmp_path / "plain").bands is None


def test_only_judged_labels_count(taught, tmp_path):
    taught.save(tmp_path / "m")
    tagger = Tagger.load(tmp_path / "m")
    before = tagger.bands.feedback[0]
    tagger.feedback("apple pear", ["fruit"], ["chance"])
    assert tagger.bands.feedback[0] == before + 2
    tagger.feedback("apple pear", [], ["chance"])
    assert tagger.bands.feedback[0] == before + 3
    tagger.feedback("qqqq", ["fruit"])  # nothing is ranked, so nothing was shown
    assert tagger.bands.feedback[0] == before + 3


def test_bands_that_do_not_fit_together_are_refused(taught, tmp_path):
    taught.save(tmp_path / "m")
    model = read_model(tmp_path / "m")
    arrays = {**model.arrays, "bands_thresholds": np.array([[1.0, -1.0]])}
    content = {key: value for key, value in model.content.items() if key in ("kind", "params", "form")}
    write_model(tmp_path / "m", content, arrays)
    with pytest.raises(DamagedModel, match="thresholds of the bands are not in order"):
        Tagger.load(tmp_path / "m")


def test_what_is_missing_is_said():
    tagger = Tagger().fit(*documents(10))
    with pytest.raises(ValueError, match="the tagger has no bands yet; call feedback"):
        tagger.rank_with_bands("apple")
    with pytest.raises(ValueError, match="give one list of accepted and of rejected labels for each of the 1 texts"):
        tagger.feedback_many(["apple"], [])
    with pytest.raises(TypeError, match="labels must be a list per text, got the string 'fruit'"):
        tagger.feedback("apple", "fruit")


def test_fitting_anew_forgets_what_the_bands_learnt_but_not_their_targets(taught, tmp_path):
    taught.save(tmp_path / "m")
    tagger = Tagger.load(tmp_path / "m").fit(*documents(30, seed=5))
    assert tagger.bands.feedback[0] == 0
    assert tagger.bands.apply == 0.9
