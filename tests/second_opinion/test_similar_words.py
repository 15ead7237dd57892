"""Similar texts by their words, without an encoder."""

import numpy as np
import pytest

from abound import Tagger, merge
from abound.components.rows import Rows
from abound.encoders import CallableEncoder, HashedWords, open_encoder
from abound.errors import DamagedModel, ModelError
from abound.server.replica import Replica
from abound.store import read_model
from abound.store.journal.records import Learn
from abound.text.hashing import HashedTerms, places_of

TOPICS = {
    "garden": "roses tulips soil garden lawn hedge seed",
    "car": "engine road race wheel brake gear tyre",
    "food": "bread butter flour oven salt cake soup",
}


def documents(n=120, seed=0):
    """Return texts of a few words of their topic, and of words that all texts have."""
    random, texts, labels = np.random.default_rng(seed), [], []
    for number in range(n):
        label = list(TOPICS)[number % 3]
        words = random.choice(TOPICS[label].split(), 3, replace=False)
        texts.append(f"{words[0]} and the {words[1]} of a {words[2]} w{number // 6}")
        labels.append([label])
    return texts, labels


@pytest.fixture(scope="module")
def tagger():
    return Tagger(embeddings="words").fit(*documents())


def test_similar_texts_share_rare_words(tagger):
    texts, labels = documents()
    for number in (0, 1, 50, 119):
        found = tagger.similar(texts[number])
        assert (found[0].text, found[0].labels) == (texts[number], labels[number])
        assert found[0].similarity == pytest.approx(1.0)
        assert len(found) == 3
        common = {"and", "the", "of", "a"}
        assert all((set(one.text.split()) & set(texts[number].split())) - common for one in found)
    assert {one.text for one in tagger.similar("w3", 6)} == set(texts[18:24])
    assert tagger.similar("bread of the and a", 1)[0].labels == ["food"]
    assert tagger.similar("unheard") == []


def test_only_texts_with_a_label_are_returned(tagger):
    found = tagger.similar("bread and the butter of a road", label="car")
    assert found
    assert all(one.labels == ["car"] for one in found)
    with pytest.raises(ValueError, match="unknown"):
        tagger.similar("bread", label="nothing")


def test_rankings_are_those_without_similar_texts(tagger):
    texts, labels = documents()
    plain = Tagger().fit(texts, labels)
    asked = documents(20, seed=1)[0]
    assert tagger.rank_many(asked) == plain.rank_many(asked)
    for text, names in zip(*documents(10, seed=2), strict=True):
        plain.learn(text, names)
    learned = Tagger(embeddings="words").fit(texts, labels)
    for text, names in zip(*documents(10, seed=2), strict=True):
        learned.learn(text, names)
    assert learned.rank_many(asked) == plain.rank_many(asked)
    assert not learned.blends
    assert learned.vector_encoder is None
    assert learned.second_opinion.prototypes.nbytes == 0


def test_a_learned_text_is_similar_with_its_new_words(tagger):
    tagger = Tagger(embeddings="words").fit(*documents())
    tagger.learn("zebras and giraffes", ["zoo"])
    assert [(one.text, one.labels) for one in tagger.similar("giraffes")] == [("zebras and giraffes", ["zoo"])]
    tagger.learn("zebras and giraffes", ["africa"], wrong=["zoo"])
    assert [one.labels for one in tagger.similar("giraffes")] == [["africa"]]
    assert tagger.similar("giraffes", label="zoo") == []
    tagger.learn("zebras and giraffes", [], wrong=["food"])
    assert [one.labels for one in tagger.similar("giraffes")] == [["africa"]]


def test_a_stream_has_similar_texts():
    tagger = Tagger(embeddings="words", language=None)
    texts, labels = documents()
    tagger.learn_many(texts, labels)
    assert tagger.similar(texts[70])[0].text == texts[70]


@pytest.mark.parametrize("keep", [True, False])
def test_a_saved_model_has_the_same_similar_texts(tmp_path, keep):
    texts, labels = documents()
    tagger = Tagger(embeddings="words").fit(texts, labels, keep_examples=keep)
    tagger.learn("zebras and giraffes", ["zoo"])
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.similar("giraffes and bread") == tagger.similar("giraffes and bread")
    assert bool(loaded.similar("giraffes and bread")) == keep
    assert not loaded.blends
    loaded.learn("okapis", ["zoo"])
    loaded.save(tmp_path / "again")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "again").rglob("*") if path.is_file())
    assert (b"zebras and giraffes" in stored) == keep
    assert (texts[3].encode() in stored) == keep
    assert loaded.examples == (tagger.examples if keep else ())


def test_an_encoder_keeps_no_texts_either(tmp_path):
    texts, labels = documents()
    encoder = CallableEncoder(lambda given: [[text.count(c) + 0.1 for c in "abcdef"] for text in given], "letters")
    for keep in (True, False):
        tagger = Tagger(embeddings=encoder).fit(texts, labels, keep_examples=keep)
        assert bool(tagger.similar(texts[0])) == keep
        assert tagger.second_opinion.keeps_texts == keep


@pytest.mark.parametrize("change", [{"votes": True}, {"dimensions": 512}, {"embeddings": "letters"}])
def test_a_manifest_that_does_not_fit_is_refused(tagger, tmp_path, change):
    tagger.save(tmp_path / "model")
    model = read_model(tmp_path / "model")
    model.content["second_opinion"] |= change
    with pytest.raises(DamagedModel):
        Tagger.from_model(model)


def test_vectors_depend_on_names_of_terms_only():
    texts, labels = documents()
    forward, backward = (
        Tagger(embeddings="words", language=None).fit(given, named)
        for given, named in ((texts, labels), (texts[::-1], labels[::-1]))
    )
    assert forward.encoder.name(3) != backward.encoder.name(3)
    difference = forward.codes_of(texts).astype(int) - backward.codes_of(texts)
    assert np.abs(difference).max() <= 1  # terms are added in the order of their numbers


def test_pruned_terms_keep_their_places():
    tagger = Tagger(embeddings="words", language=None).fit(*documents())
    before = tagger.codes_of(["bread butter"])
    wanted = tagger.encoder.vocabulary.counts() > 1
    assert not wanted.all()
    tagger.encoder.keep(wanted)
    assert np.array_equal(tagger.codes_of(["bread butter"]), before)


def test_two_terms_rarely_collide():
    random, hashed = np.random.default_rng(0), HashedTerms(1024)
    tagger = Tagger(language=None).fit([" ".join(f"word{n}" for n in range(2000))], [["a"]])
    vocabulary = tagger.encoder.vocabulary
    terms = random.choice(vocabulary.n_terms, 500, replace=False).astype(np.int32)
    rows = Rows(np.arange(501, dtype=np.int64), terms, np.ones(500))
    vectors = hashed.vectors(vocabulary, *rows)
    lengths = np.sqrt((vectors * vectors).sum(axis=1))
    cosines = (vectors @ vectors.T) / np.outer(lengths, lengths)
    others = np.abs(cosines[~np.eye(500, dtype=bool)])
    assert others.max() <= 0.4
    assert np.mean(others > 0.1) < 0.1


def test_places_are_those_of_blake2b():
    places = places_of("päärynä\udc80", 1024)
    assert len(set(map(abs, places))) == len(places) == 8
    assert all(1 <= abs(place) <= 1024 for place in places)
    signs = [np.sign(place) for number in range(200) for place in places_of(f"term {number}", 1024)]
    assert 0.4 < np.mean(np.array(signs) > 0) < 0.6


def test_replicas_need_no_vectors_in_records(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    replicas = [Replica.load(tmp_path / "model") for _ in range(2)]
    for sequence, (text, names) in enumerate(zip(*documents(6, seed=3), strict=True), 1):
        for replica in replicas:
            replica.apply(sequence, Learn(text, accepted=tuple(names)))
    first, second = replicas
    assert first.state_hash() == second.state_hash()
    assert first.tagger.similar(documents(6, seed=3)[0][5])[0].text == documents(6, seed=3)[0][5]
    with first.tagger.knowing("bread butter", None):
        assert first.tagger.codes_of(["bread butter"]).any()


def test_merged_models_show_the_texts_of_both():
    texts, labels = documents()
    parts = [Tagger(embeddings="words", language=None).fit(texts[i::2], labels[i::2]) for i in range(2)]
    merged = merge(*parts)
    assert not merged.blends
    for number in (40, 41):
        assert merged.similar(texts[number], 1)[0].text == texts[number]
        assert merged.similar(texts[number], 1)[0].labels == labels[number]


def test_many_texts_are_learned_as_one_by_one():
    texts, labels = documents(40)
    many, single = (Tagger(embeddings="words", language=None) for _ in range(2))
    many.learn_many(texts, labels)
    for text, names in zip(texts, labels, strict=True):
        single.learn(text, names, insist=False)
    assert many.similar(texts[7], 10) == single.similar(texts[7], 10)


def test_words_are_opened_by_their_name():
    encoder = open_encoder("words")
    assert isinstance(encoder, HashedWords)
    with pytest.raises(ModelError, match="made by a tagger"):
        encoder.encode(["a text"])
    tagger = Tagger(embeddings=encoder).fit(*documents())
    assert tagger.similar("bread and the butter of a cake") == Tagger(embeddings="words").fit(*documents()).similar(
        "bread and the butter of a cake"
    )
    with pytest.raises(ValueError, match="made of the words"):
        tagger.similar("bread", vector=np.ones(1024))
