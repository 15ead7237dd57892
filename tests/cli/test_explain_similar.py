"""`abound explain` shows similar texts below the words, if the model has them."""

import pytest

from abound import Tagger
from tests.second_opinion.test_similar_words import documents

TEXT = "bread and the butter of a cake"


@pytest.fixture
def tagger(tmp_path):
    made = Tagger(embeddings="words").fit(*documents(), label_names={"food": "Food and drink"})
    made.save(tmp_path / "model")
    return made


def test_similar_texts_follow_the_words(run, tagger, tmp_path):
    wanted = [one._asdict() for one in tagger.similar(TEXT, label="food")]
    assert len(wanted) == 3
    assert run("explain", tmp_path / "model", TEXT, "--label", "food", "--json").json["similar"] == wanted
    shown = run("explain", tmp_path / "model", TEXT, "-k", 1, "--table").out
    assert shown.index("score") < shown.index("Similar texts with Food and drink")
    assert f"{wanted[0]['similarity']:.0%}" in shown


@pytest.mark.parametrize("keeps", [True, False])
def test_a_model_without_similar_texts_shows_the_words_only(run, tmp_path, keeps):
    embeddings = None if keeps else "words"
    Tagger(embeddings=embeddings).fit(*documents(), keep_examples=keeps).save(tmp_path / "model")
    assert "similar" not in run("explain", tmp_path / "model", TEXT, "-k", 1, "--json").json
    assert "Similar" not in run("explain", tmp_path / "model", TEXT, "-k", 1, "--table").out
