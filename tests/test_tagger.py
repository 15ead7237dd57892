"""The Tagger: text in, label names out, corrections learnt at once, everything kept."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import abound
from abound import Tagger
from abound.errors import DamagedModel, UnknownFormat
from abound.metrics import evaluate

TEXTS = ["a red apple", "a green apple", "a fast car", "a red car", "apple pie and cream"]
LABELS = [["fruit"], ["fruit"], ["vehicle"], ["vehicle", "colour"], ["dessert"]]


@pytest.fixture
def tagger():
    return Tagger().fit(TEXTS, LABELS)


def test_ranks_names_best_first(tagger):
    entries = tagger.rank("a fast red car", k=3)
    assert entries[0].label == "vehicle"
    assert [entry.rank for entry in entries] == [1, 2, 3]
    assert [entry.score for entry in entries] == sorted((entry.score for entry in entries), reverse=True)
    assert tagger.rank_many(["a fast red car", "zebra"], 3) == [entries, []]


def test_a_new_label_is_there_after_one_learn(tagger):
    tagger.learn("quantum chromodynamics", ["physics"])
    assert tagger.rank("quantum chromodynamics")[0].label == "physics"


@pytest.mark.parametrize("params", [{}, {"min_count": 2}, {"char_ngrams": (3, 4)}, {"weighting": "pivoted"}])
def test_one_by_one_and_in_chunks_give_the_same_state(params):
    one, chunks = Tagger(**params), Tagger(**params)
    for text, labels in zip(TEXTS * 3, LABELS * 3, strict=True):
        one.learn(text, labels, insist=False)
    chunks.learn_many(TEXTS, LABELS)
    chunks.learn_many(TEXTS * 2, LABELS * 2)
    assert one.state_hash() == chunks.state_hash()


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_a_correction_stands_first_at_once_even_against_saturated_words(few_labels):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{int(30 * u * u)}" for u in rng.random(4)) for _ in range(2000)]
    tagger = Tagger(ranker_params={"few_labels": few_labels})
    tagger.learn_many(texts, [[f"l{len(text) % 7}", f"m{text[1]}"] for text in texts])
    for n in range(20):
        tagger.learn(texts[n], [f"new {n}", "l3"])
        assert {entry.label for entry in tagger.rank(texts[n], 2)} == {f"new {n}", "l3"}


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_a_rejected_label_falls_and_the_text_is_no_example(few_labels):
    tagger = Tagger(ranker_params={"few_labels": few_labels}).fit(TEXTS * 3, LABELS * 3)
    rows, terms = tagger.n_rows, tagger.n_features
    before = {entry.label: entry.score for entry in tagger.rank("a red car of mine")}
    with pytest.raises(ValueError, match="'never heard of' is not known, so there is nothing to learn"):
        tagger.learn("a red car of mine", [], wrong=["vehicle", "never heard of"])
    tagger.learn("a red car of mine", [], wrong=["vehicle"])
    after = {entry.label: entry.score for entry in tagger.rank("a red car of mine")}
    assert after.get("vehicle", -1.0) < before["vehicle"]
    assert after["colour"] == before["colour"]
    assert (tagger.n_rows, tagger.n_features) == (rows, terms)
    with pytest.raises(ValueError, match="label 'fruit' is both right and wrong"):
        tagger.learn("a pear", ["fruit"], wrong=["fruit"])
    with pytest.raises(ValueError, match="a feature-focus ranker cannot learn from wrong labels; a cascade can"):
        Tagger("feature-focus").learn("a pear", [], wrong=["fruit"])


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_a_person_who_rejects_the_first_label_sees_another_first(few_labels):
    tagger = Tagger(ranker_params={"few_labels": few_labels}).fit(TEXTS * 9, LABELS * 9)
    first = tagger.rank("a red car of mine")[0].label
    if few_labels == 0:
        tagger.learn("a red car of mine", [], wrong=[first], insist=False)
        assert tagger.rank("a red car of mine")[0].label == first  # one step is not enough here
    tagger.learn("a red car of mine", [], wrong=[first])
    assert tagger.rank("a red car of mine")[0].label != first
    everything = [entry.label for entry in tagger.rank("a red car of mine")]
    tagger.learn("a red car of mine", [], wrong=everything)  # comes to an end


@pytest.mark.parametrize("ranker_params", [{"few_labels": 0}, {"few_labels": 0, "passes": 1}, {}])
def test_a_label_without_example_is_ranked_by_its_name(ranker_params, tmp_path):
    names = {"fruit": "fruits", "boat": ["boats", "ships of all kinds"]}
    tagger = Tagger(ranker_params=ranker_params).fit(TEXTS, LABELS, label_names=names)
    assert tagger.rank("old ships")[0].label == "boat"
    assert tagger.name_of("boat") == "boats"
    assert tagger.n_rows == len(TEXTS)
    assert tagger.label_counts[tagger.ranker.labels_.id_of("boat")] == 0
    tagger.learn_names({"horse": "horses"})
    assert tagger.rank("horses")[0].label == "horse"
    tagger.save(tmp_path / "m")
    assert Tagger.load(tmp_path / "m").state_hash() == tagger.state_hash()
    assert not Tagger(name_weight=0).fit(TEXTS, LABELS, label_names=names).rank("ships")
    with pytest.raises(TypeError, match="the names of label 'boat' must be strings, got 3"):
        tagger.learn_names({"boat": [3]})


@given(st.lists(st.tuples(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3)), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_any_text_and_any_names_survive_saving(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("model") / "m"
    tagger = Tagger()
    for text, labels in rows:
        tagger.learn(text, labels)
    tagger.save(path)
    loaded = Tagger.load(path)
    assert loaded.state_hash() == tagger.state_hash()
    for text, _ in rows:
        assert loaded.rank(text) == tagger.rank(text)


@pytest.mark.parametrize("params", [{}, {"min_count": 2}, {"ranker_params": {"passes": 3}}])
def test_a_loaded_tagger_goes_on_as_before(params, tmp_path):
    tagger = Tagger(**params).fit(TEXTS, LABELS)
    tagger.label_names = {"fruit": ["Fruit", "hedelmä"], "dessert": ["Dessert"]}
    tagger.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    assert isinstance(loaded, Tagger)
    assert loaded.params() == tagger.params()
    assert loaded.label_names == tagger.label_names
    assert loaded.name_of("fruit") == "Fruit"
    assert loaded.name_of("vehicle") == "vehicle"
    for one in (tagger, loaded):
        one.learn("a new text of a red kind", ["new"])
    assert loaded.state_hash() == tagger.state_hash()


def test_explanations_are_words_of_the_text_and_sum_to_the_score(tagger):
    text = "A Red apple, a RED one!"
    for entry in tagger.rank(text):
        why = tagger.explain(text, entry.label)
        assert why.score == entry.score
        for word in why.words:
            assert [text[a:b].lower().replace(",", "") for a, b in word.spans] == [word.word] * len(word.spans)
    [red] = [word for word in tagger.explain(text, "colour").words if word.word == "red"]
    assert red.spans == [(2, 5), (15, 18)]


def test_explanations_of_stems_point_at_the_words_as_they_were_written():
    tagger = Tagger(stem="english").fit(["forest fires", "fast cars"], [["fire"], ["car"]])
    text = "A FIRE, and many Fires in the forests"
    why = tagger.explain(text, "fire")
    assert {word.word: [text[a:b] for a, b in word.spans] for word in why.words} == {
        "fire": ["FIRE", "Fires"],
        "forest": ["forests"],
    }


def test_pruning_brings_it_under_the_budget_and_leaves_it_working():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(3000)]
    texts = [" ".join(words[int(3000 * u**3)] for u in rng.random(8)) for _ in range(3000)]
    tagger = Tagger().fit(texts, [[f"l{len(text) % 7}"] for text in texts])
    before = tagger.nbytes
    dropped = tagger.prune(before // 2)
    assert tagger.nbytes <= before // 2
    assert dropped["terms"] > 0
    assert tagger.rank(texts[0])
    tagger.learn("an entirely new text", ["new"])
    assert tagger.rank("an entirely new text")[0].label == "new"


def test_rankings_can_be_measured(tagger):
    ranking = tagger.rank_arrays(TEXTS, 3)
    assert evaluate(tagger.truth(LABELS), ranking, ["P@1"])["P@1"] == 1.0


def test_every_ranker_can_be_had():
    for kind in ("frequency", "independent", "feature-focus"):
        tagger = Tagger(kind).fit(TEXTS, LABELS)
        assert tagger.rank("a red car")[0].label in ("vehicle", "fruit")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Tagger("oracle"), ValueError, "unknown ranker 'oracle'; known are cascade, feature-focus"),
        (lambda: Tagger(mode="corpus"), TypeError, "mode"),
        (lambda: Tagger(ngram=3), TypeError, "ngram"),
        (lambda: Tagger().learn("text", "label"), TypeError, r"give \['label'\]"),
        (lambda: Tagger().fit(["a"], []), ValueError, "1 texts but 0 lists of labels"),
        (lambda: Tagger().rank("a", 0), ValueError, "k must be a whole number of at least 1, got 0"),
        (lambda: Tagger().explain("a", "x"), ValueError, "label 'x' is unknown"),
    ],
)
def test_mistakes_get_one_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda tagger: tagger.fit(["a"], []),
        lambda tagger: tagger.fit(["a", None], [["x"], ["y"]]),
        lambda tagger: tagger.learn("new words", "label"),
        lambda tagger: tagger.learn(7, ["label"]),
        lambda tagger: tagger.learn("new words", ["new label", {}]),
        lambda tagger: tagger.learn_many(["new", "words"], [["x"]]),
    ],
)
def test_a_call_that_is_refused_changes_nothing(tagger, call):
    before = tagger.state_hash()
    with pytest.raises((TypeError, ValueError)):
        call(tagger)
    assert tagger.state_hash() == before


def test_other_models_are_told_apart(tagger, tmp_path):
    abound.FeatureFocus().fit([[1.0]], ["a"]).save(tmp_path / "ranker")
    with pytest.raises(UnknownFormat, match="contains a 'feature-focus', not a tagger"):
        Tagger.load(tmp_path / "ranker")


def test_an_index_that_knows_more_than_its_vocabulary_is_refused(tagger, tmp_path):
    from abound.store import read_model, write_model

    tagger.save(tmp_path / "model")
    model = read_model(tmp_path / "model")
    small = Tagger().fit(TEXTS[:1], LABELS[:1])
    arrays = {key: np.array(a) for key, a in model.arrays.items()} | small.encoder.arrays()
    content = {k: v for k, v in model.content.items() if k in ("kind", "params", "form")}
    write_model(tmp_path / "model", content, arrays)
    with pytest.raises(DamagedModel, match="features that the vocabulary does not have"):
        Tagger.load(tmp_path / "model")


def test_ranking_does_not_import_scikit_learn():
    import subprocess
    import sys

    code = (
        "import sys; from abound import Tagger; t = Tagger(); t.learn('a b', ['x']); t.rank('a');"
        "sys.exit(any(m in sys.modules for m in ('sklearn', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_saving_does_not_copy_the_vocabulary_or_the_index(tmp_path):
    tagger = Tagger(language=None, ngrams=1, ranker_params={"few_labels": 0})
    texts = [" ".join(f"w{n}" for n in range(start, start + 1000)) for start in range(0, 400_000, 1000)]
    tagger.learn_many(texts, [[f"label {n}"] for n in range(len(texts))])
    assert tagger.n_features == 400_000
    tracemalloc.start()
    try:
        tagger.save(tmp_path / "model")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 13e6  # a block of 8 MB at a time; the arrays of vocabulary and index have 24 MB
    assert Tagger.load(tmp_path / "model").state_hash() == tagger.state_hash()
