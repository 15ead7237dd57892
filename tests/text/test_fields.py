"""Texts with fields: occurrences are weighted by field before the logarithm, and word n-grams stay within a field."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.errors import FieldsWarning
from abound.text import TextEncoder, prepare
from abound.text.words import join_words, words_of
from tests.reference.text import TextOracle
from tests.text.test_encoder import as_dicts, few_words, options

pytestmark = pytest.mark.kernel
FIELDS = ("title", "abstract", "notes")
field_texts = st.dictionaries(st.sampled_from(FIELDS), few_words.map(" ".join) | st.text(max_size=20), max_size=3)
streams = st.lists(field_texts | few_words.map(" ".join), min_size=1, max_size=6)
weights = st.fixed_dictionaries({name: st.sampled_from([0, 0.25, 0.5, 1, 2.5, 3]) for name in FIELDS})


@given(options, weights, streams)
@settings(max_examples=200, deadline=None)
def test_rows_equal_the_oracles(params, field_weights, stream):
    encoder = TextEncoder(**params, fields=FIELDS, field_weights=field_weights)
    oracle = TextOracle(**params, field_weights=field_weights)
    for text in stream:
        [row] = as_dicts(encoder.rows([text], learn=True))
        oracle.learn(text)
        names = {encoder.name(i, unique=True): w for i, w in row.items()}
        expected = {
            join_words(term.removeprefix("\x02")) + " (as written)" * term.startswith("\x02"): oracle.row(text)[number]
            for term, number in oracle.numbers.items()
            if number in oracle.row(text)
        }
        assert names == pytest.approx(expected)


@given(options, weights, streams)
@settings(max_examples=50, deadline=None)
def test_counted_texts_are_weighed_as_a_stream_is(params, field_weights, stream):
    encoder = TextEncoder(**params, fields=FIELDS, field_weights=field_weights)
    encoder.begin_counting()
    counted = encoder.count(stream)
    for one, other in zip(encoder.weigh(counted), encoder.rows(stream), strict=True):
        assert one.tolist() == other.tolist()


def test_word_pairs_do_not_cross_fields():
    encoder = TextEncoder(ngrams=3, fields=("title", "abstract"))
    encoder.rows([{"title": "red apple", "abstract": "pie and cream"}], learn=True)
    names = {encoder.name(i) for i in range(encoder.n_terms)}
    assert {"red apple", "pie and", "and cream", "pie and cream"} <= names
    assert not {"apple pie", "red apple pie", "apple pie and"} & names


def test_weights_are_summed_before_the_logarithm():
    encoder = TextEncoder(ngrams=1, fields=("title", "abstract"), field_weights={"title": 3, "abstract": 0.5})
    encoder.rows([{"title": "a b", "abstract": "a c c"}], learn=True)
    [row] = as_dicts(encoder.rows([{"title": "a b", "abstract": "a c c"}]))
    by_name = {encoder.name(i): weight for i, weight in row.items()}
    assert by_name["a"] / by_name["c"] == pytest.approx(1 + math.log(3.5))
    assert by_name["b"] / by_name["c"] == pytest.approx(1 + math.log(3))
    [row] = as_dicts(encoder.rows([{"abstract": "a b b b b"}]))
    by_name = {encoder.name(i): weight for i, weight in row.items()}
    assert by_name["b"] / by_name["a"] == pytest.approx((1 + math.log(2)) / 0.5)


def test_a_string_counts_once_whatever_the_weights():
    plain, weighted = TextEncoder(), TextEncoder(fields=("title",), field_weights={"title": 7})
    texts = ["a red apple and a red car", "apple pie"]
    assert as_dicts(weighted.rows(texts, learn=True)) == as_dicts(plain.rows(texts, learn=True))


def test_positions_say_the_field_and_point_at_its_text():
    encoder = TextEncoder(ngrams=2, fields=("title", "abstract"))
    text = {"title": "İzmir apple", "abstract": "An Apple, e\u0301tude apple pie"}
    encoder.rows([text], learn=True)
    positions = encoder.positions(text, range(encoder.n_terms))
    found = {encoder.name(term): spans for term, spans in positions.items()}
    assert [span.field for span in found["apple"]] == ["title", "abstract", "abstract"]
    for name, spans in found.items():
        for start, stop, field in spans:
            assert words_of(prepare(text[field][start:stop])) == name.split()


def test_a_missing_field_is_empty_and_an_unknown_one_is_one_warning():
    encoder = TextEncoder(fields=("title", "abstract"))
    encoder.rows([{"title": "red", "abstract": "apple"}], learn=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(as_dicts(encoder.rows([{"abstract": "apple"}]))[0]) == 1
        assert as_dicts(encoder.rows([{}])) == [{}]
    with pytest.warns(FieldsWarning, match=r"'body' is ignored; the model has the fields title, abstract") as caught:
        rows = as_dicts(encoder.rows([{"title": "red", "body": "apple"}, {"body": "red"}]))
    assert [len(row) for row in rows] == [1, 0]
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.rows([{"body": "red"}])


def test_fields_are_joined_by_an_encoder_without_fields():
    encoder = TextEncoder()
    encoder.rows(["red apple\npie"], learn=True)
    with pytest.warns(FieldsWarning, match="the fields are joined") as caught:
        assert as_dicts(encoder.rows([{"a": "red apple", "b": "pie"}] * 2)) == as_dicts(
            encoder.rows(["red apple\npie"] * 2)
        )
    assert len(caught) == 1


def test_the_number_of_terms_is_bounded():
    encoder = TextEncoder(ngrams=2, stem="english", form_weight=0.5, fields=("a", "b"))
    text = {"a": "cats sat", "b": "cats, cats run"}
    encoder.rows([text], learn=True)
    assert encoder.n_terms <= encoder.count_terms(text) <= encoder.term_count_bound(text)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fields": ()}, "fields must be 1 to 16 different names"),
        ({"fields": ("a", "a")}, "fields must be 1 to 16 different names"),
        ({"fields": "title"}, "fields must be 1 to 16 different names"),
        ({"fields": tuple(map(str, range(17)))}, "fields must be 1 to 16 different names"),
        ({"fields": ("a",), "field_weights": {"b": 1}}, "there is a weight for the field 'b', but the fields are a"),
        ({"field_weights": {"b": -1}}, "the weight of field 'b' must be 0, or between 0.0625 and 100, got -1"),
        ({"field_weights": {"b": 0.01}}, "must be 0, or between 0.0625 and 100"),
        ({"field_weights": {"b": math.nan}}, "must be 0, or between 0.0625 and 100"),
        ({"field_weights": {"b": "x"}}, "must be 0, or between 0.0625 and 100"),
        ({"field_weights": [1]}, "field_weights must be a mapping"),
    ],
)
def test_bad_fields_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        TextEncoder(**params)


@pytest.mark.parametrize("text", [{"title": 3}, {3: "title"}, {"title": None}, ["title"], 3, b"title"])
def test_a_text_that_is_no_text_is_refused(text):
    with pytest.raises(TypeError, match=r"must be a string"):
        TextEncoder(fields=("title",)).rows([text])


def test_many_weighted_occurrences_stop_at_a_maximum():
    encoder = TextEncoder(ngrams=1, fields=("a",), field_weights={"a": 100})
    _, _, occurrences = encoder.count([{"a": "cat " * 1000}])
    assert occurrences.tolist() == [np.iinfo(np.uint16).max]
