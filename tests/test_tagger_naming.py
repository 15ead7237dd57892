"""Labels by their names: a name that belongs to exactly one label stands for it."""

import time

import pytest

from abound import Tagger
from abound.hierarchy import Hierarchy
from abound.tagger.naming import NameIndex, NameResolver

NAMES = {"u1": ["sukset", "skis"], "u2": ["hiihto"], "u3": ["mercury", "metal"], "u4": ["mercury"], "5": ["viisi"]}


@pytest.fixture
def tagger():
    texts, labels = ["long skis", "a race", "hot metal", "a planet"], [["u1"], ["u2"], ["u3"], ["u4"]]
    return Tagger().fit(texts, labels, label_names=NAMES)


def test_a_name_is_a_label_in_python(tagger):
    known = tagger.n_labels
    tagger.learn("wax and boards", ["sukset"], wrong=["Hiihto"])
    assert tagger.n_labels == known
    assert tagger.rank("wax boards")[0].label == "u1"
    assert tagger.explain("wax boards", "sukset").label == "u1"
    assert [entry.label for entry in tagger.rank("wax boards race", only=["skis"])] == ["u1"]
    assert [entry.label for entry in tagger.rank("wax boards race", only=["=SKIS"])] == ["u1"]


def test_ids_win_unless_labels_are_names(tagger):
    tagger.learn("wax", ["sukset"], labels_are="ids")  # a label of its own
    assert "sukset" in tagger.ranker.labels_
    tagger.learn("grip wax", ["sukset"])
    assert tagger.rank("grip")[0].label == "sukset"
    tagger.learn("powder snow", ["sukset"], labels_are="names")
    assert tagger.rank("powder")[0].label == "u1"
    with pytest.raises(ValueError, match="labels_are must be one of either, ids, names, got 'both'"):
        tagger.learn("x", ["y"], labels_are="both")


def test_an_ambiguous_name_is_refused_with_the_choices(tagger):
    words = r"'mercury' is the name of 2 labels: u3 \(mercury, metal\), u4 \(mercury\); give one of these"
    for call in (
        lambda: tagger.learn("x", ["mercury"]),
        lambda: tagger.learn("x", ["u1"], wrong=["mercury"]),
        lambda: tagger.explain("x", "mercury"),
        lambda: tagger.rank("x", only="mercury"),
        lambda: Tagger().fit(["x"], [["mercury"]], label_names=NAMES),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    tagger.learn("x", ["metal"])


def test_a_wrong_label_must_be_known(tagger):
    for labels_are in ("either", "ids", "names"):
        with pytest.raises(ValueError, match="label 'nobody' is not known, so there is nothing to learn"):
            tagger.learn("x", ["u1"], wrong=["nobody"], labels_are=labels_are)
    tagger.learn_many(["x", "y"], [["new"], ["u1"]], wrong=[[], ["new"]])  # known from the row before


def test_training_and_evaluation_take_names():
    texts, names = ["long skis", "a race"] * 20, {"u1": ["sukset"], "u2": ["hiihto"]}
    by_name = Tagger().fit(texts, [["sukset"], ["HIIHTO"]] * 20, label_names=names)
    by_id = Tagger().fit(texts, [["u1"], ["u2"]] * 20, label_names=names)
    assert by_name.state_hash() == by_id.state_hash()
    as_ids = Tagger().fit(texts, [["sukset"], ["hiihto"]] * 20, label_names=names, labels_are="ids")
    assert as_ids.n_labels == 4
    found = by_id.evaluate(texts, [["sukset"], ["u2"]] * 20).metrics(["P@1"])["P@1"].value
    assert found == 1.0


def test_the_best_match_counts():
    names = {"a": ["Turkey"], "b": ["turkey"], "c": ["bird", "turkey"], "d": ["TURKEY hen"]}
    index = NameIndex(lambda: names, names.__getitem__)
    assert index.find("turkey") == ["b"]  # equal and preferred
    assert index.find("Turkey") == ["a"]
    assert index.find("TURKEY") == ["a", "b"]  # preferred, before the other name of c
    assert index.find(" Bird ") == ["c"]
    assert index.find("hen") == []
    names["d"] = ["bird"]
    index.update(["d"])
    assert index.find("bird") == ["c", "d"]
    assert index.find("TURKEY hen") == []  # no longer a name


def test_names_that_the_caller_changes_are_noticed(tagger):
    assert tagger.label_of("sukset") == "u1"
    tagger.label_names["u9"] = ["fresh"]
    assert tagger.label_of("fresh") == "u9"
    tagger.learn_names({"u10": ["new name"]})
    assert tagger.label_of("new name") == "u10"
    tagger.label_names = {"u1": ["other"]}
    assert (tagger.label_of("sukset"), tagger.label_of("other")) == ("sukset", "u1")


def test_numbers_have_names_too():
    tagger = Tagger().fit(["long skis", "a race"], [[1], [2]], label_names={1: "sukset", 2: "hiihto"})
    tagger.learn("wax", ["sukset"])
    assert tagger.rank("wax")[0].label == 1
    tagger.hierarchy = Hierarchy.from_pairs([("1", "2")])
    assert tagger.n_labels == 2


def test_resolving_does_not_depend_on_the_number_of_labels():
    names = {f"http://example.org/{i}": [f"name {i}"] for i in range(100_000)}
    resolver = NameResolver(lambda: names)
    resolver.resolve("name 1")
    started = time.process_time()
    for i in range(10_000):
        assert resolver.resolve(f"Name {i}") == f"http://example.org/{i}"
    assert time.process_time() - started < 2.0
