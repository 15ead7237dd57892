"""The Tagger on texts with fields: learning, ranking, explaining and keeping them."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from abound import Tagger, load, merge, plots
from abound.errors import FieldsWarning
from abound.tagger.training import Training
from abound.texts import joined

TEXTS = [
    {"title": "Apple trees", "abstract": "a red fruit that grows on trees"},
    {"title": "Fast cars", "abstract": "a red engine on four wheels"},
    {"title": "Apple pie", "abstract": "cream and sugar in an oven"},
] * 20
LABELS = [["fruit"], ["vehicle"], ["dessert"]] * 20


@pytest.fixture
def tagger():
    return Tagger(field_weights={"title": 3}).fit(TEXTS, LABELS)


def test_fields_are_those_of_the_texts_and_are_kept(tagger, tmp_path):
    assert tagger.encoder.fields == ("title", "abstract")
    assert tagger.encoder.weight_of_field("title") == 3
    tagger.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.params() == tagger.params()
    assert back.state_hash() == tagger.state_hash()
    text = {"title": "apple", "abstract": "cream"}
    assert back.rank(text) == tagger.rank(text)
    assert back.explain(text, "dessert") == tagger.explain(text, "dessert")


def test_by_default_a_short_field_counts_as_much_as_the_longest_but_at_most_eight_times():
    texts = [{"a": "red apple", "b": "a b c d e f g h i", "c": "x " * 50, "d": ""}, "plain", {"a": "blue apple"}]
    for language in ("auto", None):
        tagger = Tagger(language=language).fit(texts, LABELS[:3])
        weights = {name: tagger.encoder.weight_of_field(name) for name in tagger.encoder.fields}
        assert weights == {"a": 8, "b": 6, "c": 1, "d": 1}
    tagger = Tagger(fields=["b", "a"], field_weights={"b": 2}).fit([{"a": "red", "b": "sweet apples"}], [["x"]])
    assert {name: tagger.encoder.weight_of_field(name) for name in tagger.encoder.fields} == {"b": 2, "a": 4}


@pytest.mark.parametrize("language", ["auto", "en"])
def test_rows_in_chunks_give_the_same_model(language):
    texts = [*TEXTS, {"title": "Odd", "abstract": "one long abstract changes the mean length " * 100}]
    labels = [*LABELS, ["odd"]]
    whole, parts = Tagger(language=language).fit(texts, labels), Tagger(language=language)
    training = Training(parts)
    for start in range(0, len(texts), 7):
        training.add(texts[start : start + 7], labels[start : start + 7])
    training.learn()
    assert whole.params()["field_weights"]["title"] == 8
    assert parts.params() == whole.params()
    assert parts.state_hash() == whole.state_hash()


def test_a_model_of_plain_texts_has_no_parameters_of_fields():
    tagger = Tagger().fit(list(map(joined, TEXTS)), LABELS)
    assert tagger.encoder.fields is None
    assert not {"fields", "field_weights"} & set(tagger.params())


def test_another_fit_finds_its_own_fields(tagger):
    tagger.set_params(field_weights=None)
    tagger.fit([{"name": "red apple"}, {"text": "fast car"}], [["fruit"], ["vehicle"]])
    assert tagger.encoder.fields == ("name", "text")
    tagger.fit(["red apple", "fast car"], [["fruit"], ["vehicle"]])
    assert tagger.encoder.fields is None


def test_a_weight_of_a_field_that_no_text_has_is_refused():
    with pytest.raises(ValueError, match="there is a weight for the field 'body', but the fields are title, abstract"):
        Tagger(field_weights={"body": 3}).fit(TEXTS, LABELS)


def test_weights_decide_which_field_wins():
    text = {"title": "fast cars", "abstract": "an apple pie with cream and sugar"}
    by_title = Tagger(field_weights={"abstract": 0}).fit(TEXTS, LABELS)
    by_abstract = Tagger(field_weights={"title": 0}).fit(TEXTS, LABELS)
    assert by_title.rank(text)[0].label == "vehicle"
    assert by_abstract.rank(text)[0].label == "dessert"


def test_explanations_say_in_which_field_a_word_is(tagger):
    text = {"title": "Apple trees", "abstract": "red apple"}
    reason = tagger.explain(text, "fruit")
    fields = {word.word: word.fields for word in reason.words}
    assert fields["appl"] == ["title", "abstract"] or fields["apple"] == ["title", "abstract"]
    assert fields["red"] == ["abstract"]
    for word in reason.words:
        for start, stop, field in word.spans:
            assert text[field][start:stop].lower().startswith(word.word[:3])
    assert reason.score == pytest.approx(tagger.rank(text)[0].score)
    plain = tagger.explain("red apple", "fruit")
    assert all(word.fields == [] and len(span) == 2 for word in plain.words for span in word.spans)


def test_coloured_text_joins_the_fields(tagger):
    shown = plots.coloured_text(tagger, {"title": "Pie", "abstract": "cream"}, "dessert")
    assert shown.text == "Pie\ncream"
    assert [piece for piece, level in shown.runs() if level > 0] == ["Pie", "cream"]


def test_corrections_and_judgements_take_fields(tagger):
    text = {"title": "Cream cars", "abstract": "sugar"}
    tagger.learn(text, ["toy"], wrong=["dessert"])
    assert tagger.rank(text)[0].label == "toy"
    tagger.learn_many([text, "a plain string"], [["toy"], ["other"]])
    tagger.feedback(text, ["toy"])
    assert tagger.rank_with_bands(text)[0].label == "toy"
    assert tagger.assign_many(TEXTS[:2])
    assert tagger.predict(TEXTS[:1]).shape == (1,)
    assert tagger.score(TEXTS, LABELS) > 0.9
    assert tagger.evaluate(TEXTS, LABELS).metrics(["P@1"])["P@1"].value > 0.9


def test_a_stream_takes_the_fields_of_its_first_text():
    tagger = Tagger()
    tagger.learn(TEXTS[0], ["fruit"])
    assert tagger.encoder.fields == ("title", "abstract")
    assert tagger.rank(TEXTS[0])[0].label == "fruit"


def test_an_unknown_field_is_one_warning_and_a_known_model_joins(tagger):
    with pytest.warns(FieldsWarning, match="'body' is ignored; the model has the fields title, abstract") as caught:
        tagger.rank_many([{"title": "apple", "body": "pie"}] * 2)
    assert len(caught) == 1
    plain = Tagger().fit(list(map(joined, TEXTS)), LABELS)
    with pytest.warns(FieldsWarning, match="the fields are joined"):
        assert plain.rank(TEXTS[0]) == plain.rank(joined(TEXTS[0]))


def test_an_empty_ranking_says_why(tagger):
    with pytest.warns(match="no known word: none of its 2 words occurs in the training texts"):
        assert tagger.rank({"title": "zebra", "abstract": "xylophone"}) == []


def test_merged_models_need_the_same_fields(tagger):
    merged = merge(tagger, Tagger(field_weights={"title": 3}).fit(TEXTS, LABELS))
    assert merged.encoder.fields == ("title", "abstract")
    assert merged.rank(TEXTS[0])[0].label == "fruit"
    with pytest.raises(ValueError, match="field"):
        merge(tagger, Tagger().fit(list(map(joined, TEXTS)), LABELS))


def test_fields_are_a_parameter_of_the_estimator():
    tagger = Tagger(fields=["title", "abstract"], field_weights={"title": 2})
    again = clone(tagger)
    assert again.get_params()["field_weights"] == {"title": 2}
    assert "field_weights={'title': 2}" in repr(again)
    again.fit(TEXTS, LABELS)
    assert again.encoder.fields == ("title", "abstract")


@pytest.mark.parametrize("bad", [{"title": 3}, {"title": None}, 7])
def test_a_bad_text_is_refused_before_anything_is_learned(tagger, bad):
    before = tagger.state_hash()
    with pytest.raises(TypeError, match="must be a string"):
        tagger.learn_many([TEXTS[0], bad], [["a"], ["b"]])
    with pytest.raises(TypeError, match="give a list of texts"):
        tagger.predict(TEXTS[0])
    assert tagger.state_hash() == before


def test_one_field_of_weight_one_is_the_plain_model():
    plain = Tagger(language="en").fit(list(map(joined, TEXTS)), LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = Tagger(language="en").fit([{"text": joined(text)} for text in TEXTS], LABELS)
    assert one.state_hash() == plain.state_hash()
    assert np.array_equal(one.rows_of([TEXTS[0] | {}][:0]).data, plain.rows_of([]).data)
