"""The text kernels equal a plain reading of what they do, for any text and in any chunks."""

import copy
import itertools
import math
import pickle
import unicodedata

import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.kernels.blending import logarithms
from abound.text import TextEncoder, prepare, stemming
from abound.text.characters import N_CHARACTERS, character_kinds, kind_of
from abound.text.words import join_words, original_offsets
from tests.reference.text import FORM, TextOracle, terms, words

pytestmark = pytest.mark.kernel

# Few words, so that they meet again; beside them whatever Unicode has.
few_words = st.lists(
    st.sampled_from(
        ["the", "cat", "sat", "Äiti", "cat's", "cats", "2", "straße", "İzmir", "日本語", "ไทย", "हिन्दी", "🐱👍🏽"]
    ),
    max_size=8,
)
texts = st.lists(few_words.map(" ".join) | st.text(max_size=30), min_size=1, max_size=8)
options = st.fixed_dictionaries(
    {
        "ngrams": st.integers(1, 3),
        "char_ngrams": st.sampled_from([None, (2, 3), (1, 1)]),
        "weighting": st.sampled_from(["tfidf", "pivoted"]),
        "stem": st.sampled_from([None, "english", "finnish"]),
        "run_weight": st.sampled_from([1.0, 0.5]),
        "part_weight": st.sampled_from([1.0, 0.7]),
        "form_weight": st.sampled_from([0.0, 0.5, 2.0]),
        "tokenizer": st.sampled_from(["unicode", "unicode", "alphanumeric"]),
    }
)


def names_of(encoder):
    return [encoder.name(i) for i in range(encoder.n_terms)]


def as_dicts(rows):
    indptr, indices, data = rows
    spans = itertools.pairwise(indptr)
    return [dict(zip(indices[a:b].tolist(), data[a:b].tolist(), strict=True)) for a, b in spans]


@given(options, texts)
@settings(max_examples=200, deadline=None)
def test_rows_equal_the_oracle_after_every_text(params, stream):
    encoder, oracle = TextEncoder(**params), TextOracle(**params)
    for text in stream:
        oracle.learn(text)
        [row] = as_dicts(encoder.rows([text], learn=True))
        assert row == pytest.approx(oracle.row(text), abs=1e-12)
        assert names_of(encoder) == [join_words(name.removeprefix(FORM)) for name in oracle.numbers]
    [again] = as_dicts(encoder.rows([stream[0]]))
    assert again == pytest.approx(oracle.row(stream[0]), abs=1e-12)


@given(options, texts)
@settings(max_examples=50, deadline=None)
def test_texts_one_by_one_give_the_same_bits_as_all_at_once(params, stream):
    one, all_ = TextEncoder(**params), TextEncoder(**params)
    rows = as_dicts(all_.rows(stream, learn=True))
    assert [as_dicts(one.rows([text], learn=True))[0] for text in stream] == rows
    for key, array in all_.arrays().items():
        assert np.array_equal(array, one.arrays()[key])


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_words_are_the_same_in_python_and_in_the_kernel(text):
    for tokenizer in ("unicode", "alphanumeric"):
        encoder = TextEncoder(ngrams=1, tokenizer=tokenizer)
        encoder.rows([text], learn=True)
        expected = terms(text, ngrams=1, tokenizer=tokenizer)
        assert names_of(encoder) == list(dict.fromkeys(map(join_words, expected)))
        assert encoder.words(text) == words(text, tokenizer)


@given(
    st.lists(st.sampled_from(["Cat", "İzmir", "e\u0301tude", "ﬁn", "🙂", " ", "a-b", "日本", "co\u00adop"]), max_size=6)
)
@settings(max_examples=100, deadline=None)
def test_spans_point_at_the_words_as_they_were_written(parts):
    text = " ".join(parts)
    encoder = TextEncoder(ngrams=2)
    encoder.rows([text], learn=True)
    for span in encoder.spans(text):
        assert prepare(text[span.start : span.stop]).split()[0].startswith(encoder.name(span.term)[0])
        assert join_words(" ".join(words(text[span.start : span.stop]))) == encoder.name(span.term)
    assert len(original_offsets(text)) == len(prepare(text)) + 1


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("ﾤￍ⑹⁹", [0, 2, 2, 2, 3, 4]),  # halfwidth letters that become one syllable
        ("x ﾡￂﾡ y", [0, 1, 2, 4, 5, 6, 7]),
        ("ﾡﾡￂ", [0, 1, 3]),
    ],
)
def test_letters_that_become_one_syllable_keep_the_places_of_what_follows(text, offsets):
    assert original_offsets(text) == offsets
    encoder = TextEncoder(ngrams=2)
    encoder.rows([text], learn=True)
    for span in encoder.spans(text):
        assert 0 <= span.start < span.stop <= len(text)


@given(st.lists(st.floats(1e-3, 1e12), min_size=1))
@settings(max_examples=300, deadline=None)
def test_our_logarithm_is_one(numbers):
    """The kernels of texts, probabilities and blends share one logarithm; that of blends takes any numbers."""
    found = np.empty(len(numbers))
    logarithms(np.array(numbers), found)
    assert found.tolist() == pytest.approx([math.log(x) for x in numbers], rel=1e-14, abs=1e-15)


def test_a_term_is_admitted_at_its_second_sighting():
    encoder = TextEncoder(min_count=2)
    encoder.rows(["red apple"], learn=True)
    assert encoder.n_terms == 0
    encoder.rows(["red apple"], learn=True)
    encoder.rows(["red car"], learn=True)
    # The pair had to wait for its words, and so is seen for the second time only now.
    assert {encoder.name(i) for i in range(encoder.n_terms)} == {"red", "apple"}
    encoder.rows(["red apple"], learn=True)
    assert {encoder.name(i) for i in range(encoder.n_terms)} == {"red", "apple", "red apple"}


def test_a_budget_of_terms_is_kept():
    encoder = TextEncoder(max_terms=3)
    encoder.rows(["one two three four five"], learn=True)
    assert encoder.n_terms == 3
    assert as_dicts(encoder.rows(["four"])) == [{}]


def test_after_counting_a_word_is_used_from_its_min_count_th_text_on():
    encoder = TextEncoder(min_count=2, ngrams=1)
    encoder.begin_counting()
    encoder.count(["red apple", "red car"])

    def names(text, learn=False):
        return [encoder.name(i) for i in as_dicts(encoder.rows([text], learn=learn))[0]]

    assert names("red apple") == ["red"]
    assert names("apple of a new kind", learn=True) == ["apple"]  # its second text; the others have their first
    assert names("a new apple", learn=True) == ["apple", "a", "new"]


@pytest.mark.parametrize("params", [{}, {"min_count": 2}, {"weighting": "pivoted"}, {"char_ngrams": (3, 4)}])
def test_counted_texts_are_weighed_as_if_they_came_last(params):
    texts = ["a red apple and a red car", "", "apple pie", "a car, a car, a car"]
    encoder = TextEncoder(**params)
    encoder.begin_counting()
    counted = encoder.count(texts)
    for one, other in zip(encoder.weigh(counted), encoder.rows(texts), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("weighting", ["tfidf", "pivoted"])
def test_unseen_rows_are_those_of_an_encoder_that_did_not_count_them(weighting):
    texts = ["red apple tree", "red car", "an apple pie", "green pie and car", "one blue boat"]
    whole, part = TextEncoder(weighting=weighting), TextEncoder(weighting=weighting)
    for encoder in (whole, part):
        encoder.begin_counting()
    part.count(texts[:3])
    whole.count(texts[:3])
    counted = whole.count(texts[3:])
    before = {name: array.copy() for name, array in whole.arrays().items()}
    unseen, expected = whole.weigh_unseen(counted), part.rows(texts[3:])
    names = [[whole.name(term) for term in unseen[1]], [part.name(term) for term in expected[1]]]
    assert names[0] == names[1]
    assert "boat" not in names[0]
    np.testing.assert_array_equal(unseen[0], expected[0])
    np.testing.assert_array_equal(unseen[2], expected[2])
    again = whole.count_known(texts[3:])
    for one, other in zip(again, counted, strict=True):
        np.testing.assert_array_equal(one, other)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_stems_bring_forms_together():
    encoder = TextEncoder(stem="english", ngrams=1)
    encoder.rows(["connected connections connecting"], learn=True)
    assert [encoder.name(i) for i in range(encoder.n_terms)] == ["connect"]
    with pytest.raises(ValueError, match="no stemmer for 'klingon'; stemmers"):
        TextEncoder(stem="klingon")


WRITTEN = st.lists(
    st.sampled_from(["Running", "fires", "happily", "FIRES", "flies,", "e\u0301tudes", "İzmir", "🙂", "a-b", "weiß"]),
    max_size=8,
)


@given(WRITTEN, st.sampled_from(["english", "finnish", "german", "turkish", "porter"]))
@settings(max_examples=100, deadline=None)
def test_rows_of_stems_are_those_of_a_text_that_has_the_stems_for_its_words(parts, language):
    text, stemmer = " ".join(parts), Stemmer.Stemmer(language)
    stemmed, plain = TextEncoder(stem=language, char_ngrams=(2, 3)), TextEncoder(char_ngrams=(2, 3))
    rows = as_dicts(stemmed.rows([text, text], learn=True))
    written = " ".join(stemmer.stemWords(words(text)))
    assert as_dicts(plain.rows([written, written], learn=True)) == rows
    assert [stemmed.name(i) for i in range(stemmed.n_terms)] == [plain.name(i) for i in range(plain.n_terms)]


@given(WRITTEN)
@settings(max_examples=100, deadline=None)
def test_stems_stand_where_their_words_do(parts):
    text, stemmer = " ".join(parts), Stemmer.Stemmer("english")
    encoder = TextEncoder(stem="english", ngrams=2)
    encoder.rows([text], learn=True)
    for span in encoder.spans(text):
        stems = stemmer.stemWords(words(text[span.start : span.stop]))
        assert join_words(" ".join(stems)) == encoder.name(span.term)


def test_parts_of_stems_stand_in_the_word_as_it_was_written():
    text = "Happily, the FIRES"
    encoder = TextEncoder(stem="english", ngrams=2, char_ngrams=(3, 3))
    encoder.rows([text], learn=True)
    written = {encoder.name(span.term): text[span.start : span.stop] for span in encoder.spans(text)}
    assert written["happili"] == "Happily"
    assert written["·ili·"] == "ily"
    assert written["·ire·"] == "IRE"
    assert written["the fire"] == "the FIRES"


def test_the_memory_of_stems_is_bounded_and_forgetting_changes_nothing(monkeypatch):
    texts = ["running fires", "connected flies", "running connections"]
    expected = as_dicts(TextEncoder(stem="english").rows(texts, learn=True))
    monkeypatch.setattr(stemming, "MAX_STEMS", 2)
    stems = stemming.Stems("english")
    assert [stems[word] for word in ("flies", "fires", "running", "flies")] == ["fli", "fire", "run", "fli"]
    assert len(stems) <= 2
    assert copy.deepcopy(stems)["fires"] == "fire"
    assert as_dicts(TextEncoder(stem="english").rows(texts, learn=True)) == expected


def test_words_stand_beside_their_stems_and_are_looked_up_by_them():
    encoder = TextEncoder(stem="english", ngrams=1, form_weight=0.5)
    encoder.rows(["Fires and a fire"], learn=True)
    assert [(encoder.name(s.term), s.start, s.stop) for s in encoder.spans("FIRES")] == [
        ("fires", 0, 5),
        ("fire", 0, 5),
    ]
    again = TextEncoder(**encoder.params())
    again.restore(encoder.arrays())
    assert as_dicts(again.rows(["fires"])) == as_dicts(encoder.rows(["fires"]))


@pytest.mark.parametrize(
    "params", [{"run_weight": 0.0}, {"part_weight": -1}, {"form_weight": 1e9}, {"run_weight": "1"}]
)
def test_weights_that_are_none_are_refused(params):
    with pytest.raises(ValueError, match=f"{next(iter(params))} must be between"):
        TextEncoder(**params)


def test_pruning_keeps_the_names_of_what_is_left():
    encoder = TextEncoder(ngrams=3, char_ngrams=(2, 2))
    for text in ["the red apple", "the red car", "a blue car"]:
        encoder.rows([text], learn=True)
    names = [encoder.name(i) for i in range(encoder.n_terms)]
    wanted = encoder.vocabulary.counts() >= 2
    encoder.keep(wanted)
    left = [encoder.name(i) for i in range(encoder.n_terms)]
    assert left == [name for name, kept in zip(names, wanted, strict=True) if kept]
    assert "the red" in left
    assert as_dicts(encoder.rows(["the red"]))[0].keys() == {
        left.index(t) for t in terms("the red", 3, (2, 2)) if t in left
    }


def test_a_pickled_vocabulary_goes_on_as_before():
    encoder = TextEncoder()
    encoder.rows(["the red apple"], learn=True)
    copied = pickle.loads(pickle.dumps(encoder.vocabulary))  # noqa: S301  our own bytes
    assert copied.n_texts == 1
    assert [copied.name(i) for i in range(copied.n_terms)] == ["the", "red", "apple", "the red", "red apple"]


@pytest.mark.parametrize(
    ("key", "at", "value", "message"),
    [
        ("term_starts", 0, 1, "at the wrong position"),
        ("term_lengths", 0, 0, "at the wrong position"),
        ("term_lengths", 0, 1000, "at the wrong position"),
        ("term_starts", 3, 7, "terms that come after it"),
        ("term_lengths", 3, -900, "terms that come after it"),
        ("term_counts", 1, -1, "negative count"),
        ("text_counters", 0, -1, "out of range"),
    ],
)
def test_a_damaged_vocabulary_is_refused(key, at, value, message):
    encoder = TextEncoder()
    encoder.rows(["the red apple"], learn=True)
    arrays = encoder.arrays()
    arrays[key][at] = value
    with pytest.raises(ValueError, match=message):
        TextEncoder().restore(arrays)


def test_a_repeated_term_is_refused():
    encoder = TextEncoder(ngrams=1)
    encoder.rows(["ab ac"], learn=True)
    arrays = encoder.arrays()
    arrays["term_names"][3] = ord("b")
    with pytest.raises(ValueError, match="term 1 occurs twice"):
        TextEncoder(ngrams=1).restore(arrays)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"ngrams": 0}, "ngrams must be between 1 and 8, got 0"),
        ({"min_count": 0}, "min_count must be between 1 and 255"),
        ({"char_ngrams": (5, 3)}, "the shorter first"),
        ({"weighting": "bm25"}, "weighting must be 'tfidf' or 'pivoted', got 'bm25'"),
        ({"max_terms": 0}, "max_terms must be a whole number of at least 1"),
    ],
)
def test_a_bad_parameter_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        TextEncoder(**params)


def test_a_text_must_be_a_string():
    with pytest.raises(TypeError, match="a text must be a string, got NoneType: None"):
        TextEncoder().rows([None])


def test_positions_are_those_of_the_spans():
    encoder = TextEncoder(stem="english")
    text = "Fires burned. The FIRE burns"
    encoder.rows([text], learn=True)
    spans = encoder.spans(text)
    chosen = {span.term for span in spans[::2]}
    positions = encoder.positions(text, chosen)
    assert positions.keys() == chosen
    assert sum(map(len, positions.values())) > len(chosen)  # a term occurs twice
    for term in chosen:
        assert positions[term] == [(span.start, span.stop) for span in spans if span.term == term]


def test_the_stored_table_of_characters_is_that_of_unicode():
    if unicodedata.unidata_version != "14.0.0":
        pytest.skip("the table was written with Unicode 14")
    assert bytes(map(kind_of, range(N_CHARACTERS))) == character_kinds()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我爱北京", ["我", "爱", "北", "京", "我爱", "爱北", "北京", "我爱北", "爱北京"]),
        ("ที่นี่", ["ที่", "นี่", "ที่นี่"]),  # marks stay with their letter
        ("हिन्दी में", ["हिन्दी", "में", "हिन्दी में"]),  # one word, not one for each vowel sign
        ("GTK を使う", ["gtk", "を", "使", "う", "gtk を", "を使", "使う", "を使う"]),
        ("👍🏽 ❤️", ["👍", "❤", "👍❤"]),  # without skin tone and variation selector
        ("ＡＢＣ ｶﾞ", ["abc", "ガ", "abc ガ"]),
        ("Straße STRASSE", ["strasse", "strasse strasse"]),
        ("كِتَاب كتاب", ["كتاب", "كتاب كتاب"]),
        ("co\u00adoperate", ["cooperate"]),
        ("كتاب ﷺ", ["كتاب"]),
        ("5 € → 7 $", ["5", "€", "→", "7", "5 €", "€→", "→ 7"]),
    ],
)
def test_terms_of_many_scripts(text, expected):
    encoder = TextEncoder(ngrams=2)
    encoder.rows([text], learn=True)
    assert names_of(encoder) == expected


def test_units_have_pairs_and_triples_even_if_words_have_no_n_grams():
    encoder = TextEncoder(ngrams=1)
    encoder.rows(["red apple 北京 市"], learn=True)
    assert names_of(encoder) == ["red", "apple", "北", "京", "市", "北京"]


def test_no_character_makes_a_text_much_longer():
    longest = max((len(prepare(chr(code))), chr(code)) for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    assert longest[0] <= 8


def test_models_of_older_versions_keep_their_words():
    encoder = TextEncoder(ngrams=1, tokenizer="alphanumeric")
    encoder.rows(["日本 ﬁn ❤"], learn=True)
    assert names_of(encoder) == ["日本", "ﬁn"]
