"""Vectors that are given with texts."""

import warnings

import numpy as np
import pytest

from abound import Tagger
from abound.encoders import CallableEncoder, GivenVectors, open_encoder
from abound.errors import MissingVectors, ModelError
from abound.second_opinion import quantised

N = 120
TOPICS = ("fruit", "car", "music")
RANDOM = np.random.default_rng(7)
CENTRES = RANDOM.normal(size=(3, 8))
TEXTS = [f"text {number} about thing{number % 17}" for number in range(N)]
LABELS = [[TOPICS[number % 3]] for number in range(N)]
VECTORS = np.array([CENTRES[number % 3] for number in range(N)]) + 0.1 * RANDOM.normal(size=(N, 8))


def tagger(**params):
    return Tagger(embeddings=GivenVectors(8), language=None, **params)


@pytest.fixture(scope="module")
def fitted():
    return tagger().fit(TEXTS, LABELS, vectors=VECTORS)


def test_given_vectors_are_learned_as_they_are(fitted):
    by_text = dict(zip(TEXTS, VECTORS.tolist(), strict=True))
    encoder = CallableEncoder(lambda texts: [by_text.get(text, [0.0] * 8) for text in texts], "same", 8)
    encoded = Tagger(embeddings=encoder, language=None).fit(TEXTS, LABELS)
    mine, other = fitted.second_opinion.state(), encoded.second_opinion.state()
    assert all(np.array_equal(mine[name], other[name]) for name in other)


def test_a_given_vector_decides_where_words_say_nothing(fitted):
    for number, topic in enumerate(TOPICS):
        assert fitted.rank("text", vector=CENTRES[number])[0].label == topic
    many = fitted.rank_many(["text"] * 3, vectors=CENTRES)  # equal texts keep their own vectors
    assert [entries[0].label for entries in many] == list(TOPICS)
    assert [entries[0].label for entries in fitted.assign_many(["text"] * 3, vectors=CENTRES)] == list(TOPICS)


def test_similar_texts_and_metrics_use_given_vectors(fitted):
    found = fitted.similar("text", vector=VECTORS[4])
    assert found[0].text == TEXTS[4]
    right = fitted.evaluate(["text"] * 3, [[topic] for topic in TOPICS], vectors=CENTRES)
    assert right.metrics(["P@1"])["P@1"].value == 1.0


def test_texts_without_labels_do_not_shift_the_vectors_of_an_evaluation(fitted):
    right = fitted.evaluate(["text"] * 4, [[], ["fruit"], ["car"], ["music"]], vectors=[CENTRES[1], *CENTRES])
    assert right.metrics(["P@1"])["P@1"].value == 1.0


def test_without_a_vector_words_rank_with_a_warning(fitted):
    with pytest.warns(MissingVectors, match="a text has no vector and is known by words alone"):
        assert fitted.rank(TEXTS[0])
    with pytest.warns(MissingVectors, match="2 texts have no vectors"):
        fitted.rank_many(TEXTS[:3], vectors=[VECTORS[0], None, None])


@pytest.mark.parametrize("language", [None, "auto"])  # rows are held back to detect the language
def test_vectors_are_dropped_with_rows_of_weight_0(language):
    weights = np.ones(N)
    weights[::5] = 0
    kept = np.flatnonzero(weights)
    weighted = Tagger(embeddings=GivenVectors(8), language=language)
    weighted.fit(TEXTS, LABELS, sample_weight=weights, vectors=VECTORS)
    plain = Tagger(embeddings=GivenVectors(8), language=language)
    plain.fit([TEXTS[i] for i in kept], [LABELS[i] for i in kept], vectors=VECTORS[kept])
    assert np.array_equal(
        weighted.second_opinion.state()["neighbours_vectors"], plain.second_opinion.state()["neighbours_vectors"]
    )


def test_a_vector_is_learned(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    learner = Tagger.load(tmp_path / "model")
    assert learner.settings.embeddings == "given:8"
    new = -CENTRES.sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingVectors)
        learner.learn("unheard of words", ["novelty"], vector=new)
        assert learner.rank("text", vector=new)[0].label == "novelty"
        learner.learn_many(["some rows", "more rows"], [["car"], ["music"]], vectors=CENTRES[1:], sample_weight=[1, 0])
    assert learner.n_rows == N + 2
    assert learner.similar("text", 1, vector=CENTRES[1])[0].similarity > 0.999


def test_a_new_tagger_learns_vectors():
    learner = tagger()
    for number in range(30):
        learner.learn(TEXTS[number], LABELS[number], vector=VECTORS[number], insist=False)
    assert len(learner.second_opinion.neighbours) == 30
    assert np.array_equal(learner.codes_of(["x"], learner.given_codes(VECTORS[:1], 1))[0], quantised(VECTORS[:1])[0])


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (VECTORS[:-1], "there are 120 texts but 119 vectors"),
        (VECTORS[:, :5], "vector 1 has 5 numbers, but the vectors of the model have 8"),
        (np.where(np.arange(N)[:, None] == 3, np.nan, VECTORS), "vector 4 has a number that is not finite"),
        (VECTORS[0], "one row per text"),
        ([["a"] * 8] * N, "lists of numbers"),
        ([1.0] * N, "vector 1 must be a list of numbers"),
    ],
)
def test_vectors_that_cannot_be_used(fitted, vectors, message):
    before = fitted.n_rows
    with pytest.raises(ValueError, match=message):
        fitted.fit(TEXTS, LABELS, vectors=vectors)
    with pytest.raises(ValueError, match=message):
        fitted.learn_many(TEXTS, LABELS, vectors=vectors)
    assert fitted.n_rows == before


def test_a_tagger_without_embeddings_takes_no_vectors():
    with pytest.raises(ValueError, match="the tagger has no embeddings"):
        Tagger().fit(TEXTS, LABELS, vectors=VECTORS)


def test_names_of_given_vectors():
    assert open_encoder("given:12").dimensions == 12
    assert open_encoder("given:mini:lm:12").name == "given:mini:lm:12"
    for name in ("given:", "given:x", "given:0", "given:99999", "given:-3"):
        with pytest.raises(ModelError):
            open_encoder(name)


def test_texts_are_not_kept_if_examples_are_not():
    learner = tagger().fit(TEXTS, LABELS, vectors=VECTORS, keep_examples=False)
    assert learner.examples == ()
    assert not learner.second_opinion.keeps_texts
    assert learner.similar("text", 5, vector=VECTORS[0]) == []


def test_names_of_labels_have_no_given_vectors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingVectors)
        tagger().fit(TEXTS, LABELS, label_names={"fruit": "Fruit and berries"}, vectors=VECTORS)


def test_a_limit_of_memory_counts_vectors():
    words = [[f"w{1000 * number + word}" if word % 3 else f"v{word}" for word in range(1, 150)] for number in range(N)]
    learner = Tagger(embeddings=GivenVectors(512), language=None)
    learner.fit([" ".join(row) for row in words], LABELS, vectors=RANDOM.normal(size=(N, 512)))
    vectors, limit = learner.second_opinion.nbytes, learner.nbytes * 7 // 10
    learner.prune(limit)
    assert learner.nbytes <= limit
    assert learner.n_features
    assert learner.second_opinion.nbytes == vectors
