"""The tagger as a scikit-learn estimator of texts, and its entries as JSON."""

import dataclasses
import json
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from abound import Entry, Tagger, load
from abound.rankers import KINDS, ranker_class
from abound.tagger import BandedEntry
from abound.tagger.settings import TEXT_PARAMS

TEXTS = ["a red apple", "a fast car", "apple pie", "a new car", "green apples", "cars and lorries"] * 10
LISTS = [["fruit"], ["vehicle"], ["fruit", "cooking"], ["vehicle"], ["fruit"], ["vehicle"]] * 10
NAMES = [labels[0] for labels in LISTS]


# -- parameters --------------------------------------------------------------------------------------


def test_parameters_of_the_ranker_are_reachable_by_name():
    tagger = Tagger(passes=3, ngrams=1)
    assert tagger.ranker.passes == 3
    assert tagger.encoder.ngrams == 1
    assert tagger.fit(TEXTS, LISTS).state_hash() == (
        Tagger(ranker_params={"passes": 3}, ngrams=1).fit(TEXTS, LISTS).state_hash()
    )
    assert Tagger("feature-focus", margin=0.1).ranker.margin == 0.1


def test_no_ranker_has_a_parameter_of_the_text():
    for kind in KINDS:
        own = {*ranker_class(kind).param_names()}
        assert not own & {*TEXT_PARAMS, "ranker", "ranker_params", "language", "name_weight"}


def test_an_unknown_parameter_is_named():
    with pytest.raises(TypeError, match="a tagger with the ranker 'cascade' has no parameter 'pases'; it has language"):
        Tagger(pases=3)
    with pytest.raises(TypeError, match="the ranker 'mmp' has no parameter 'd_max'"):
        Tagger(d_max=3).set_params(ranker="mmp")
    with pytest.raises(ValueError, match="passes is given twice"):
        Tagger(passes=3, ranker_params={"passes": 2})
    with pytest.raises(ValueError, match="passes must be at least 1, got 0"):
        Tagger().set_params(passes=0)
    with pytest.raises(ValueError, match="ngrams must be between 1 and 8, got 0"):
        Tagger().set_params(ngrams=0)


def test_get_params_rebuilds_the_tagger():
    tagger = Tagger("feature-focus", d_max=7, language="en", char_ngrams=(3, 4), name_weight=2.0)
    params = tagger.get_params()
    assert (params["ranker"], params["d_max"], params["margin"]) == ("feature-focus", 7, 0.5)
    assert Tagger(**params).params() == tagger.params()


def test_clones_have_the_parameters_and_nothing_learned():
    tagger = Tagger(passes=1, ngrams=1).fit(TEXTS, LISTS)
    other = clone(tagger)
    assert (other.n_rows, other.ranker.passes, other.encoder.ngrams) == (0, 1, 1)
    assert other.get_params() == tagger.get_params()
    assert clone(Tagger()).set_params(ranker="mmp").ranker.kind == "mmp"  # defaults of the cascade are not in the way


def test_a_detected_language_is_detected_again_by_a_clone():
    tagger = Tagger().fit(["the quick brown fox jumps over the lazy dog and the other animals"] * 50, LISTS[:50])
    assert tagger.language == "en"
    assert clone(tagger).language == "auto"


def test_set_params_before_fit():
    tagger = Tagger().set_params(ranker="feature-focus", margin=0.1, ngrams=1, language=None, name_weight=1.0)
    expected = Tagger("feature-focus", margin=0.1, ngrams=1, language=None, name_weight=1.0)
    assert tagger.params() == expected.params()
    assert tagger.fit(TEXTS, LISTS).state_hash() == expected.fit(TEXTS, LISTS).state_hash()


def test_set_params_of_a_fitted_tagger_forgets_nothing():
    tagger = Tagger().fit(TEXTS, LISTS)
    before, ranked = tagger.state_hash(), tagger.rank("apple pie")
    tagger.set_params(passes=1, d_max=3)
    assert (tagger.ranker.passes, tagger.ranker.d_max) == (1, 3)
    tagger.set_params(ngrams=1)
    assert tagger.state_hash() == before
    assert tagger.rank("apple pie") == ranked
    assert tagger.params()["ngrams"] == 2
    tagger.fit(TEXTS, LISTS)
    assert tagger.params()["ngrams"] == 1
    assert tagger.state_hash() == Tagger(passes=1, d_max=3, ngrams=1).fit(TEXTS, LISTS).state_hash()


def test_another_ranker_waits_for_the_next_fit():
    tagger = Tagger().fit(TEXTS, LISTS)
    tagger.set_params(ranker="feature-focus", margin=0.1)
    assert tagger.ranker.kind == "cascade"
    assert tagger.get_params()["margin"] == 0.1
    assert tagger.fit(TEXTS, LISTS).ranker.kind == "feature-focus"


def test_a_loaded_tagger_has_its_parameters(tmp_path):
    Tagger(passes=2, ngrams=1).fit(TEXTS, LISTS).save(tmp_path / "model")
    tagger = load(tmp_path / "model", d_max=9)
    assert (tagger.get_params()["passes"], tagger.get_params()["d_max"]) == (2, 9)
    assert clone(tagger).ranker.d_max == 9


def test_repr_has_what_differs_from_the_defaults():
    assert repr(Tagger()) == "Tagger()"
    assert repr(Tagger("mmp", passes=2, ngrams=1)) == "Tagger(ranker='mmp', passes=2, ngrams=1)"
    assert repr(Tagger(language="fi", char_ngrams=None)) == "Tagger(language='fi', char_ngrams=None)"
    tagger = Tagger(passes=3).fit(TEXTS, LISTS)
    assert repr(tagger) == f"Tagger(passes=3)  # 60 texts, 3 labels, {tagger.n_features} terms"


# -- scikit-learn ------------------------------------------------------------------------------------


def test_scikit_learn_checks():
    with pytest.warns(UserWarning, match="Can't test estimator Tagger which requires input"):
        check_estimator(Tagger())


@pytest.mark.parametrize("labels", [LISTS, NAMES, np.array(NAMES)], ids=["lists", "names", "array"])
def test_cross_validation(labels):
    assert cross_val_score(Tagger(), TEXTS, labels, cv=3).min() > 0.9
    assert cross_val_score(Tagger(), np.array(TEXTS), labels).min() > 0.9


def test_cross_validation_by_other_measures():
    assert cross_val_score(Tagger(), TEXTS, NAMES, cv=3, scoring="f1_macro").min() > 0.9
    predicted = cross_val_predict(Tagger(), TEXTS, LISTS, cv=3)
    assert [sorted(row) for row in predicted] == [sorted(row) for row in LISTS]


def test_grid_search_over_parameters_of_tagger_text_and_ranker():
    grid = {"ranker": ["frequency", "cascade"], "ngrams": [1, 2], "language": [None]}
    search = GridSearchCV(Tagger(), grid, cv=3).fit(TEXTS, LISTS)
    assert search.best_params_["ranker"] == "cascade"
    assert search.score(TEXTS, LISTS) > 0.9
    search = GridSearchCV(make_pipeline(Tagger()), {"tagger__passes": [1, 2]}, cv=3).fit(TEXTS, NAMES)
    assert search.predict(["red apples"]).tolist() == ["fruit"]


def test_score_is_the_share_of_texts_whose_best_label_is_right():
    tagger = Tagger().fit(TEXTS, LISTS)
    assert tagger.score(["red apple", "fast car"], [["vehicle"], ["vehicle", "fruit"]]) == 0.5
    assert tagger.score(["red apple", "fast car"], ["fruit", "unknown"]) == 0.5
    assert tagger.score(["red apple", "fast car"], ["fruit", "fruit"], sample_weight=[3, 1]) == 0.75


def test_predict_returns_the_assigned_labels_after_lists_and_names_after_names():
    tagger = Tagger().fit(TEXTS, LISTS)
    texts = ["apple pie", "a car"]
    assert [sorted(row) for row in tagger.predict(texts)] == [["cooking", "fruit"], ["vehicle"]]
    assert tagger.predict(texts).tolist() == [[entry.label for entry in row] for row in tagger.assign_many(texts)]
    assert Tagger().fit(TEXTS, NAMES).predict(texts).tolist() == ["fruit", "vehicle"]


def test_the_form_of_the_labels_survives_saving_and_corrections(tmp_path):
    tagger = Tagger().fit(TEXTS, NAMES)
    tagger.learn("a tall tree", ["plant"])
    tagger.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(["a tall tree"]).tolist() == ["plant"]


def test_invalid_texts_and_labels_get_one_sentence():
    tagger = Tagger()
    with pytest.raises(NotFittedError, match="this Tagger has learned nothing yet"):
        tagger.predict(TEXTS)
    with pytest.raises(NotFittedError):
        check_is_fitted(tagger)
    with pytest.raises(TypeError, match="give a list of names for each text, not an indicator matrix"):
        tagger.fit(["a", "b"], np.eye(2))
    with pytest.raises(TypeError, match="labels must be a list per text, got the string 'b'"):
        tagger.fit(["a", "b"], [["a"], "b"])
    check_is_fitted(tagger.fit(TEXTS, LISTS))
    with pytest.raises(TypeError, match="give a list of texts, not a single text"):
        tagger.predict("apple")


def test_parameters_do_not_import_scikit_learn():
    code = "import abound, sys; t = abound.Tagger(passes=2).set_params(ngrams=1); repr(t); t.get_params(); "
    code += "t.fit(['a b'], [['c']]).predict(['a b']); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- JSON --------------------------------------------------------------------------------------------


def test_an_entry_is_a_json_object():
    entry = Tagger().fit(TEXTS, LISTS).rank("apple pie")[0]
    expected = {"label": entry.label, "score": entry.score, "rank": 1, "probability": entry.probability}
    assert dataclasses.asdict(entry) == expected
    assert json.loads(json.dumps([entry], default=dataclasses.asdict)) == [expected]
    assert msgspec.json.decode(msgspec.json.encode([entry])) == [expected]
    assert msgspec.json.decode(msgspec.json.encode(entry), type=Entry) == entry


def test_an_entry_with_a_band_is_a_json_object():
    entry = BandedEntry("fruit", 1.5, 1, 0.9, "apply")
    expected = {"label": "fruit", "score": 1.5, "rank": 1, "probability": 0.9, "band": "apply"}
    assert dataclasses.asdict(entry) == msgspec.json.decode(msgspec.json.encode(entry)) == expected


def test_pydantic_takes_entries():
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(list[Entry])
    entry = Entry("fruit", 1.5, 1, 0.9)
    assert json.loads(adapter.dump_json([entry])) == [dataclasses.asdict(entry)]
    assert adapter.validate_json(adapter.dump_json([entry])) == [entry]
