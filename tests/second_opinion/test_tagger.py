"""A tagger with a second opinion: fit, rank, learn, forget, merge and save."""

from string import ascii_lowercase

import numpy as np
import pytest

from abound import Tagger, merge
from abound.encoders import CallableEncoder
from abound.errors import DamagedModel, ModelError
from abound.second_opinion import SecondOpinion
from abound.second_opinion.opinion import WordVotes
from abound.second_opinion.prototypes import Metric, Prototypes
from abound.second_opinion.vectors import directions, quantised

MEANINGS = 30
SIZE = 24


def vectors_of(texts):
    """Words that end with the same number are synonyms: they have the same vector."""
    directions = np.random.default_rng(3).normal(size=(MEANINGS + 1, SIZE))
    rows = np.zeros((len(texts), SIZE))
    for row, text in zip(rows, texts, strict=True):
        for word in text.split():
            number = int(word.lstrip(ascii_lowercase) or MEANINGS)
            row += directions[number] if number < MEANINGS else 0.2 * directions[MEANINGS]
    return rows


ENCODER = CallableEncoder(vectors_of, "meanings")


def rows(n=3000, seed=0, first=""):
    """Texts of two meanings, each a label; a meaning has many synonyms, so that words are often new."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = random.choice(MEANINGS, 2, replace=False).tolist()
        words = [
            first + ascii_lowercase[int(26 * u * u)] + ascii_lowercase[int(26 * v)] for u, v in random.random((2, 2))
        ]
        noise = [f"w{100 + int(300 * u * u)}" for u in random.random(3)]
        words = [f"{word}{meaning}" for word, meaning in zip(words, chosen, strict=True)]
        texts.append(" ".join(random.permutation([*words, *noise])))
        labels.append([f"label {meaning}" for meaning in chosen])
    return texts, labels


@pytest.fixture(scope="module")
def fitted():
    return Tagger(embeddings=ENCODER).fit(*rows())


@pytest.fixture
def tagger(fitted, tmp_path):
    fitted.save(tmp_path / "fitted")
    loaded = Tagger.load(tmp_path / "fitted")
    return loaded.set_params(embeddings=ENCODER)


def test_a_blend_ranks_synonyms_that_words_do_not_know(fitted):
    texts, labels = rows(400, seed=1, first="x")  # words that no training text has
    words = Tagger().fit(*rows())
    assert fitted.second_opinion.blend.is_used
    assert fitted.score(texts, labels) > 0.9 > 0.3 > words.score(texts, labels)
    known = rows(400, seed=2)
    assert fitted.score(*known) >= words.score(*known) - 0.005


def test_probabilities_of_the_blend_are_calibrated(fitted):
    evaluation = fitted.evaluate(*rows(1500, seed=4))
    assert evaluation.calibration_error < 0.03


def test_a_useless_encoder_is_not_used():
    noise = CallableEncoder(lambda texts: np.random.default_rng(len(texts[0])).normal(size=(len(texts), 8)), "noise")
    tagger, words = Tagger(embeddings=noise).fit(*rows()), Tagger().fit(*rows())
    texts, labels = rows(800, seed=5)
    assert tagger.score(texts, labels) >= words.score(texts, labels) - 0.02


def test_rankings_agree_in_all_methods(fitted):
    texts = rows(50, seed=6)[0]
    ranked = fitted.rank_many(texts, 5)
    assert [entries[0].label for entries in ranked] == [fitted.rank(text, 1)[0].label for text in texts]
    assert ranked[3] == fitted.rank(texts[3], 30)[:5]
    for entries in fitted.rank_many(texts, 40):
        assert [entry.score for entry in entries] == sorted((entry.score for entry in entries), reverse=True)
        assert len({entry.label for entry in entries}) == len(entries)
    only = fitted.rank(texts[0], 3, only=["label 7", "label 8"])
    assert {entry.label for entry in only} <= {"label 7", "label 8"}
    likely = {entry.label: entry.probability for entry in fitted.rank(texts[0], 30)}
    assert all(entry.probability == likely[entry.label] for entry in only)
    predicted = fitted.predict(texts)
    assert [set(names) for names in predicted] == [{e.label for e in fitted.assign(text)} for text in texts]


def test_a_correction_counts_at_once_and_a_rejected_label_is_not_first(tagger):
    text = rows(1, seed=7)[0][0]
    first = tagger.rank(text, 1)[0].label
    tagger.learn(text, ["a new label"], wrong=[first])
    ranked = [entry.label for entry in tagger.rank(text, 100)]
    assert ranked[0] == "a new label"
    assert ranked.index(first) > 1
    assert tagger.similar(text, 1, label="a new label")[0].text == text
    tagger.learn(text, [first])
    assert tagger.rank(text, 1)[0].label == first


def test_a_correction_counts_though_the_text_was_learned_often():
    texts, labels = rows(1500)
    often = texts[0]
    tagger = Tagger(embeddings=ENCODER).fit(texts + [often] * 150, labels + [["often"]] * 150)
    tagger.second_opinion.blend.is_used = True
    assert tagger.rank(often, 1)[0].label == "often"
    tagger.learn(often, ["corrected"], wrong=["often"])
    assert tagger.rank(often, 1)[0].label == "corrected"


def test_similar_texts_have_their_labels(tagger):
    text = "x4 y9 w150"
    found = tagger.similar(text)
    assert len(found) == 3
    assert {"label 4", "label 9"} & {label for one in found for label in one.labels}
    assert [one.similarity for one in found] == sorted((one.similarity for one in found), reverse=True)
    for one in tagger.similar(text, label="label 9"):
        assert "label 9" in one.labels
    assert Tagger().fit(*rows(50)).similar(text) == []


def test_a_saved_tagger_ranks_and_learns_the_same(fitted, tagger, tmp_path):
    texts = rows(30, seed=8)[0]
    assert tagger.state_hash() == fitted.state_hash()
    assert tagger.rank_many(texts) == fitted.rank_many(texts)
    other = Tagger.load(tmp_path / "fitted").set_params(embeddings=ENCODER)
    for one in (tagger, other):
        one.learn_many(*rows(20, seed=9))
        one.learn("x1 x2", ["label 1"], wrong=["label 2"])
    assert tagger.state_hash() == other.state_hash() != fitted.state_hash()
    tagger.save(tmp_path / "again")
    again = Tagger.load(tmp_path / "again").set_params(embeddings=ENCODER)
    assert again.state_hash() == tagger.state_hash()
    assert again.rank_many(texts) == tagger.rank_many(texts)


def test_the_encoder_of_a_loaded_model_is_opened_when_it_is_needed(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert (loaded.settings.embeddings, loaded.n_labels) == ("meanings", MEANINGS)
    with pytest.raises(ModelError, match="meanings is not an encoder"):
        loaded.rank("x1 x2")
    wrong = CallableEncoder(lambda texts: np.ones((len(texts), 5)), "five")
    with pytest.raises(ModelError, match=r"vectors of 24 numbers, but those of five have 5"):
        Tagger.load(tmp_path / "model").set_params(embeddings=wrong).rank("x1")


def test_given_vectors_are_used_and_the_encoder_is_not_asked(tagger, tmp_path):
    def refuse(_):
        raise AssertionError("the encoder was asked")

    silent = Tagger.load(tmp_path / "fitted").set_params(embeddings=CallableEncoder(refuse, "meanings", SIZE))
    texts, labels = rows(30, seed=10)
    for text, names in zip(texts, labels, strict=True):
        with silent.knowing(text, tagger.codes_of([text])[0]):
            silent.learn(text, names)
        tagger.learn(text, names)
    assert silent.state_hash() == tagger.state_hash()
    with silent.knowing(texts[0], None):
        assert silent.rank(texts[0])
    with pytest.raises(AssertionError, match="was asked"):
        silent.rank(texts[0])


def test_a_stream_uses_vectors_from_the_beginning():
    tagger = Tagger(embeddings=ENCODER)
    tagger.learn_many(*rows(1500))
    texts, labels = rows(300, seed=11, first="x")
    assert tagger.blends
    assert tagger.score(texts, labels) > 0.7
    assert tagger.rank(texts[0])[0].probability is not None


def test_learning_in_batches_or_one_by_one_is_the_same():
    texts, labels = rows(700)
    whole, single = Tagger(embeddings=ENCODER), Tagger(embeddings=ENCODER)
    whole.learn_many(texts, labels)
    for text, names in zip(texts, labels, strict=True):
        single.learn_many([text], [names])
    assert whole.state_hash() == single.state_hash()


def test_merged_taggers_know_the_texts_of_both(tmp_path):
    texts, labels = rows(2000)
    halves = [Tagger(embeddings=ENCODER).fit(texts[part::2], labels[part::2]) for part in (0, 1)]
    merged = merge(*halves)
    unseen = rows(300, seed=12, first="x")
    assert len(merged.second_opinion.neighbours) == 2000
    assert merged.score(*unseen) > 0.85
    assert texts[1] in [one.text for one in merged.similar(texts[1], 50)]
    merged.save(tmp_path / "merged")
    assert Tagger.load(tmp_path / "merged").state_hash() == merged.state_hash()
    with pytest.raises(ValueError, match="different embeddings cannot be merged: None and meanings"):
        merge(halves[0], Tagger().fit(texts, labels))


def test_names_of_labels_without_texts_are_found():
    texts, labels = rows(2000)
    kept = [(text, names) for text, names in zip(texts, labels, strict=True) if "label 5" not in names]
    names = {f"label {number}": f"z{number}" for number in range(MEANINGS)}
    tagger = Tagger(embeddings=ENCODER).fit(*zip(*kept, strict=True), label_names=names)
    assert "label 5" in [entry.label for entry in tagger.rank("x5", 3)]


def test_without_kept_examples_no_text_is_kept():
    opinion = SecondOpinion(4, keeps_texts=False)
    opinion.learn(quantised(np.ones((1, 4), np.float32))[0], np.array([0], np.int32), "a secret")
    assert not opinion.state()["neighbours_texts"].tobytes().replace(b"s", b"")


@pytest.mark.parametrize("change", ["neighbours_right", "prototypes_unit", "blend_scales", "prototypes_metric"])
def test_a_damaged_second_opinion_is_refused(fitted, change):
    state = fitted.second_opinion.state()
    broken = {"neighbours_right": state["neighbours_right"] + 1000, "prototypes_unit": np.zeros(1)}
    broken |= {"blend_scales": -state["blend_scales"], "prototypes_metric": state["prototypes_metric"][1:]}
    with pytest.raises((ValueError, DamagedModel)):
        SecondOpinion.from_state(state | {change: broken[change]}, SIZE, MEANINGS)


def test_wrong_embeddings_are_refused():
    with pytest.raises(TypeError, match="embeddings must be the name of an encoder"):
        Tagger(embeddings=len)
    with pytest.raises(ModelError, match="is not an encoder"):
        Tagger(embeddings="no such encoder").fit(*rows(10))


# -- prototypes ----------------------------------------------------------------------------------------


def test_prototypes_do_not_depend_on_the_order_and_forget_exactly():
    random = np.random.default_rng(0)
    codes = quantised(random.normal(size=(400, 16)).astype(np.float32))
    labels = [random.choice(9, 2, replace=False).astype(np.int32) for _ in codes]
    one, other = Prototypes(16), Prototypes(16)
    order = random.permutation(400)
    one.count(codes)
    one.add(codes, labels)
    other.count(codes[order])
    for row in order.tolist():
        other.add(codes[row][None], [labels[row]])
    other.add(codes[:50], labels[:50])
    other.add(codes[:50], labels[:50], sign=-1)
    for prototypes in (one, other):
        prototypes.learn_metric(9)
    for name, array in one.state().items():
        assert array.tobytes() == other.state()[name].tobytes(), name


def test_the_metric_makes_all_directions_vary_alike():
    random = np.random.default_rng(0)
    codes = quantised((random.normal(size=(5000, 8)) * [8, 4, 2, 1, 1, 1, 1, 0.5]).astype(np.float32))
    prototypes = Prototypes(8)
    prototypes.count(codes)
    prototypes.add(codes, [np.array([0], np.int32)] * 5000)
    prototypes.learn_metric(1)
    metric = Metric(*(prototypes.state()[name].astype(float) for name in ("mean", "metric")), 1.0)
    before, after = directions(codes), metric.map(directions(codes))
    assert after.std(axis=0).max() / after.std(axis=0).min() < 0.5 * before.std(axis=0).max() / before.std(axis=0).min()


def test_an_opinion_without_vectors_ranks_as_the_words_do():
    opinion, counts = SecondOpinion(0), np.ones(40, np.int64)
    words = WordVotes(np.arange(30, 0, -1, dtype=np.int32), np.linspace(1, 0, 30), None)
    labels, _ = opinion.rank(words, np.zeros(0, np.int8), counts)
    assert labels.tolist() == words.labels.tolist()
    outside, _ = opinion.rank(words, np.zeros(0, np.int8), counts, {5: 20.0})
    assert outside[0] == 5
