"""The MLflow flavour without MLflow: its inputs, its answers and its errors. tests/integrations runs MLflow itself."""

import importlib.util
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import abound.mlflow
from abound import Tagger
from abound.mlflow import RankingModel, texts_of

TEXTS, LABELS = ["a red apple", "a fast car"] * 30, [["fruit"], ["vehicle"]] * 30


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(language="en").fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "given",
    [
        ["an apple", "a car"],
        ("an apple", "a car"),
        np.array(["an apple", "a car"]),
        np.array([["an apple"], ["a car"]]),
        pd.Series(["an apple", "a car"]),
        pd.DataFrame({"text": ["an apple", "a car"]}),
        pd.DataFrame({"any name": ["an apple", "a car"]}),
        pd.DataFrame({"id": [1, 2], "text": ["an apple", "a car"]}),
        [{"text": "an apple"}, {"text": "a car"}],
    ],
)
def test_texts_of_every_input(given):
    assert texts_of(given) == ["an apple", "a car"]


def test_one_text_is_a_list_of_one():
    assert texts_of("an apple") == ["an apple"]
    assert texts_of({"text": "an apple"}) == ["an apple"]


def test_fields_are_columns_and_missing_ones_are_left_out():
    frame = pd.DataFrame({"title": ["an apple", None], "abstract": [None, "a car"], "year": [2000, 2001]})
    assert texts_of(frame, ("title", "abstract")) == [{"title": "an apple"}, {"abstract": "a car"}]


@pytest.mark.parametrize(
    ("given", "fields", "message"),
    [
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), None, "in the column 'text'; its columns are a, b"),
        (pd.DataFrame({"text": [7]}), None, "must have a string in the column 'text'"),
        (pd.DataFrame(index=[0]), ("title", "abstract"), "must have the column 'title' or 'abstract'"),
        ([7], None, "must be a string or have named columns, got int"),
    ],
)
def test_other_inputs_are_refused(given, fields, message):
    with pytest.raises(ValueError, match=message):
        texts_of(given, fields)


def test_labels_are_ranked_and_assigned_as_the_tagger_does(tagger):
    model = RankingModel(tagger)
    [ranked] = model.predict(["a red apple"], {"k": 1})
    expected = tagger.rank("a red apple", k=1)[0]
    assert ranked == [{"label": "fruit", "score": expected.score, "rank": 1, "probability": expected.probability}]
    assert len(model.predict(["a red apple"])[0]) == 2
    [assigned] = model.predict(["a red apple"], {"assign": True})
    assert (
        [entry["label"] for entry in assigned] == [entry.label for entry in tagger.assign("a red apple")] == ["fruit"]
    )
    with pytest.raises(ValueError, match="unknown parameters n; the parameters are k and assign"):
        model.predict(["a red apple"], {"n": 1})


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is not None, reason="MLflow is installed")
def test_without_mlflow_one_sentence_says_what_to_install(tagger, tmp_path):
    for call in (
        lambda: abound.mlflow.save_model(tagger, tmp_path / "model"),
        lambda: abound.mlflow.log_model(tagger, "model"),
        lambda: abound.mlflow.load_model(str(tmp_path)),
    ):
        with pytest.raises(ImportError, match=r"MLflow models need mlflow: pip install 'abound\[mlflow\]'"):
            call()


def test_importing_abound_does_not_import_the_flavour():
    code = "import sys, abound; abound.Tagger; sys.exit('abound.mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
