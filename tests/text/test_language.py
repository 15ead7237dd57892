"""The language of a collection is told from a seeded sample, and chooses stems and parts of words."""

import pytest

from abound.text import TextEncoder, language
from abound.text.language import STEMMERS, DetectedLanguage, detect, primary_subtag, sample_texts, settings_for_language

ENGLISH = [
    "Forest fires and climate change",
    "The history of the church in the north",
    "Teaching children to read",
    "A study of water quality in lakes",
    "Women and work in the nineteenth century",
    "How to build a small house",
]
FINNISH = [
    "Metsäpalot ja ilmastonmuutos",
    "Kirkon historia pohjoisessa",
    "Lasten lukemaan opettaminen",
    "Tutkimus järvien veden laadusta",
    "Naiset ja työ 1800-luvulla",
    "Näin rakennat pienen talon",
]
GERMAN = [
    "Waldbrände und Klimawandel",
    "Die Geschichte der Kirche im Norden",
    "Kindern das Lesen beibringen",
    "Eine Untersuchung der Wasserqualität von Seen",
    "Frauen und Arbeit im neunzehnten Jahrhundert",
    "Wie man ein kleines Haus baut",
]


@pytest.mark.parametrize(("texts", "code"), [(ENGLISH, "en"), (FINNISH, "fi"), (GERMAN, "de")])
def test_short_titles_together_tell_their_language(texts, code):
    found = detect(texts * 10)
    assert found.language == found.likeliest == code
    assert found.share > 0.9
    assert found.n_texts == 60
    assert found == detect(texts * 10)
    assert found.sentence() == f"{code} in {found.share:.0%} of 60 sampled texts"


def test_two_languages_are_none_and_their_shares_are_told():
    found = detect([*ENGLISH, *FINNISH] * 10)
    assert found.language is None
    assert found.likeliest in ("en", "fi")
    assert found.share == pytest.approx(0.5, abs=0.1)
    assert found.sentence().startswith("no language in 70% of the texts: ")


@pytest.mark.parametrize("texts", [[], [" ", ""], ["a red apple", "a fast car"], ["  " * 900] * 10])
def test_too_little_text_tells_nothing(texts):
    found = detect(texts)
    assert (found.language, found.likeliest, found.share) == (None, None, 0.0)
    assert "too little text" in found.sentence()


def test_signs_and_numbers_are_no_language():
    assert detect(["12345 67890 --- 42"] * 100).language is None


def test_odd_texts_are_survived():
    assert detect(["\ud800 broken", "\x00", "🙂", *ENGLISH * 10]).language == "en"


def test_the_sample_is_drawn_from_all_texts_and_by_the_seed(monkeypatch):
    monkeypatch.setattr(language, "SAMPLE_TEXTS", 50)
    texts = [str(number) for number in range(5000)]
    first, again, other = sample_texts(iter(texts)), sample_texts(texts), sample_texts(texts, seed=1)
    assert first == again != other
    assert len(set(first)) == 50
    numbers = sorted(map(int, first))
    assert numbers[0] < 800
    assert numbers[-1] > 4200
    assert 1800 < sum(numbers) / 50 < 3200
    assert sample_texts(texts[:7]) == texts[:7]
    assert sample_texts(["x" * 5000]) == ["x" * 1000]


def test_every_language_has_a_stemmer_that_there_is():
    for code, name in STEMMERS.items():
        assert settings_for_language(code).stem == name
        TextEncoder(**settings_for_language(code)._asdict()).rows(["a text"], learn=True)


@pytest.mark.parametrize(
    ("code", "stem", "parts", "weights"),
    [
        ("en", "english", None, (0.5, 0.5)),
        ("en-GB", "english", None, (0.5, 0.5)),
        ("FI", "finnish", (5, 5), (1.0, 0.0)),
        ("de_AT", "german", (5, 5), (1.0, 0.0)),
        ("et", None, (5, 5), (1.0, 0.0)),
        ("zh", None, None, (1.0, 0.0)),
        (None, None, None, (1.0, 0.0)),
    ],
)
def test_a_language_chooses_stems_parts_and_weights(code, stem, parts, weights):
    assert settings_for_language(code) == (stem, parts, *weights)


def test_what_was_chosen_is_said():
    assert settings_for_language("fi").sentence() == "stem=finnish, char_ngrams=5-5"
    assert settings_for_language("zh").sentence() == "whole words"
    assert DetectedLanguage("en", "en", 0.994, 1000).sentence() == "en in 99% of 1,000 sampled texts"


@pytest.mark.parametrize("code", ["english", "e", "12", "e n", ""])
def test_a_name_that_is_no_code_is_refused(code):
    with pytest.raises(ValueError, match="or a code such as 'en' or 'fi'"):
        primary_subtag(code)
