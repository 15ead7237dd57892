"""Labels with a hierarchy: selecting labels, parents and children, measures, saving."""

import json

import numpy as np
import pytest

import abound
from abound import DamagedModel, Tagger
from abound.data import Relations
from abound.hierarchy import Hierarchy
from abound.hierarchy.links import Chooser

N_LABELS = 60
NAMES = {f"l{i}": f"topic number {i}" for i in range(N_LABELS)}


def hierarchy() -> Hierarchy:
    """Labels 10 to 59 have the label of their first digit as parent; the odd ones are in a scheme."""
    pairs = [(f"l{i}", f"l{i // 10}") for i in range(10, N_LABELS)]
    odd = [(f"l{i}", "odd") for i in range(1, N_LABELS, 2)]
    concepts = [f"l{i}" for i in range(N_LABELS)]
    return Hierarchy.of(Relations(concepts, broader=pairs, schemes=odd, scheme_names={"odd": "Odd labels"}))


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        label = int(rng.integers(N_LABELS))
        both = [label, label // 10] if label >= 10 and rng.random() < 0.5 else [label]
        words = [f"w{one}" for one in both for _ in range(2)] + [f"noise{int(60 * u * u)}" for u in rng.random(6)]
        texts.append(" ".join(rng.permutation(words)))
        labels.append([f"l{one}" for one in both])
    return texts, labels


@pytest.fixture(scope="module", params=[0, 1000], ids=["many", "few"])
def tagger(request):
    texts, labels = rows()
    params = {"few_labels": request.param}
    return Tagger(ranker_params=params).fit(texts, labels, label_names=NAMES, hierarchy=hierarchy())


TEXTS = rows(40, seed=1)[0]


def allowed(entries, wanted):
    return [(entry.label, entry.score, entry.probability) for entry in entries if wanted(entry.label)]


@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        ({"only": "l2"}, lambda label: label == "l2" or (label[1:].startswith("2") and len(label) == 3)),
        ({"only": "Topic number 2"}, lambda label: label == "l2" or (label[1:].startswith("2") and len(label) == 3)),
        ({"only": ["=l2", "=l31", "=unknown"]}, lambda label: label in ("l2", "l31")),
        ({"only": "odd"}, lambda label: int(label[1:]) % 2),
        (
            {"only": "Odd labels", "without": ["l1", "=l3"]},
            lambda label: int(label[1:]) % 2 and label != "l3" and label[1] != "1",
        ),
        ({"without": ["l1", "l2", "l3"]}, lambda label: label[1] not in "123"),
    ],
)
@pytest.mark.parametrize("k", [1, 5, 100])
def test_a_selection_is_the_whole_ranking_without_the_other_labels(tagger, chosen, wanted, k):
    whole = tagger.rank_many(TEXTS, N_LABELS)
    found = tagger.rank_many(TEXTS, k, **chosen)
    assert any(found)
    for entries, among_all in zip(found, whole, strict=True):
        assert allowed(entries, lambda _: True) == allowed(among_all, wanted)[:k]
        assert [entry.rank for entry in entries] == list(range(1, len(entries) + 1))
    one = tagger.rank(TEXTS[0], k, **chosen)
    assert one == found[0]


def test_labels_can_be_selected_without_a_hierarchy():
    texts, labels = rows(200)
    plain = Tagger().fit(texts, labels)
    found = plain.rank(texts[0], 5, only=["l1", "=l2"])
    assert {entry.label for entry in found} <= {"l1", "l2"}
    assert plain.path_of("l1") == []
    with pytest.raises(ValueError, match="'nothing' is not a label, the name of a label, or a scheme of the model"):
        plain.rank("w1", only="nothing")
    with pytest.raises(ValueError, match="no label of the model is left"):
        plain.rank("w1", only="=unknown")
    with pytest.raises(ValueError, match="no label of the model is left"):
        plain.rank("w1", only="l1", without=["l1"])
    with pytest.raises(TypeError, match="hierarchy must be a Hierarchy, got dict; use read_hierarchy"):
        plain.hierarchy = {}


def test_a_name_of_several_labels_is_refused(tagger):
    tagger = Tagger().fit(["w1", "w2"], [["a"], ["b"]], label_names={"a": "same", "b": "Same"})
    assert tagger.rank("w1 w2", only="same")[0].label == "a"  # the same case is better
    with pytest.raises(ValueError, match=r"'SAME' is the name of 2 labels: a \(same\), b \(Same\); give one of these"):
        tagger.rank("w1", only="SAME")


LABELS = hierarchy()


def related(entries):
    found = {entry.label for entry in entries}
    return any(above in found for label in found for above in LABELS.ancestors_of(label))


def test_a_label_is_ranked_without_its_parents_if_asked(tagger):
    whole, found = tagger.rank_many(TEXTS, 20), tagger.rank_many(TEXTS, 20, keep_parents=False)
    assert sum(map(related, whole)) > len(TEXTS) / 2
    assert not any(map(related, found))
    assert [entries[0] for entries in whole] == [entries[0] for entries in found]
    labels = hierarchy()
    for entries, among_all in zip(found, tagger.rank_many(TEXTS, N_LABELS), strict=True):
        kept = []  # the same rule, in the plainest words
        for entry in among_all:
            near = {*labels.ancestors_of(entry.label), entry.label}
            if not any(other in near or entry.label in labels.ancestors_of(other) for other in kept):
                kept.append(entry.label)
        assert [entry.label for entry in entries] == kept[:20]


def test_assigned_labels_have_no_parents_unless_asked(tagger):
    both = tagger.assign_many(TEXTS, threshold=0.05, keep_parents=True)
    found = tagger.assign_many(TEXTS, threshold=0.05)
    assert any(map(related, both))
    assert not any(map(related, found))
    assert all({e.label for e in few} <= {e.label for e in many} for few, many in zip(found, both, strict=True))
    some = tagger.assign_many(TEXTS, threshold=0.05, only="l2")
    assert {entry.label[:2] for entries in some for entry in entries} == {"l2"}
    assert tagger.assign(TEXTS[0], threshold=0.05, only="l2") == some[0]


def test_labels_that_were_learned_later_are_linked(tagger):
    tagger = Tagger().fit(["w1 x", "w2 y"], [["l1"], ["l2"]], hierarchy=hierarchy())
    assert [entry.label for entry in tagger.rank("w1 w2", only="l1")] == ["l1"]
    tagger.learn("w1 w13", ["l13"])
    assert {entry.label for entry in tagger.rank("w1 w2", only="l1")} == {"l1", "l13"}
    assert tagger.path_of("l13") == ["l1", "l13"]


def test_the_hierarchy_is_saved_with_the_model(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.state_hash() == tagger.state_hash()
    assert loaded.path_names("l23") == ["topic number 2", "topic number 23"]
    assert loaded.rank_many(TEXTS, only="odd") == tagger.rank_many(TEXTS, only="odd")
    without = Tagger.load(tmp_path / "model")
    without.hierarchy = None
    assert without.state_hash() != tagger.state_hash()
    without.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").hierarchy is None
    assert json.loads((tmp_path / "model" / "manifest.json").read_text())["content"]["format_version"] == 5


def test_a_damaged_hierarchy_is_refused(tagger, tmp_path):
    from abound.store import read_model, write_model

    tagger.save(tmp_path / "model")
    model = read_model(tmp_path / "model")
    arrays = {**model.arrays, "hierarchy_parent_numbers": model.arrays["hierarchy_parent_numbers"] + 50}
    content = {key: value for key, value in model.content.items() if key in ("kind", "params", "form")}
    write_model(tmp_path / "damaged", content, arrays)
    with pytest.raises(DamagedModel, match="the lists of kind 'parent' of the hierarchy do not match its concepts"):
        abound.load(tmp_path / "damaged")


def test_training_again_forgets_the_hierarchy():
    tagger = Tagger().fit(["w1"], [["l1"]], hierarchy=hierarchy())
    assert tagger.fit(["w1"], [["l1"]]).hierarchy is None


def test_evaluation_of_a_branch_leaves_out_other_labels(tagger):
    texts, labels = rows(300, seed=2)
    part = tagger.evaluate(texts, labels, only="l2", k=5)
    in_branch = [[label for label in row if label.startswith("l2")] for row in labels]
    assert part.n_labelled == sum(map(bool, in_branch))
    found = tagger.rank_many([t for t, row in zip(texts, in_branch, strict=True) if row], 1, only="l2")
    true = [row for row in in_branch if row]
    right = np.mean([bool(e) and e[0].label in row for e, row in zip(found, true, strict=True)])
    assert part.metrics(["P@1"])["P@1"].value == pytest.approx(right)


def test_hierarchical_quality_counts_what_two_labels_share(tagger):
    texts, labels = rows(300, seed=2)
    evaluation = tagger.evaluate(texts, [*labels[:-1], ["not known"]])
    flat, found = evaluation.hierarchical_quality(0.0), evaluation.hierarchical_quality()
    given = tagger.assign_many(texts)
    extended = lambda row: {above for label in row for above in (label, *hierarchy().ancestors_of(label))}  # noqa: E731
    pairs = [
        (extended(row), extended([entry.label for entry in entries]))
        for row, entries in zip([*labels[:-1], ["not known"]], given, strict=True)
    ]
    shared, n_true, n_given = (
        sum(len(size) for size in sizes)
        for sizes in ([a & b for a, b in pairs], [a for a, _ in pairs], [b for _, b in pairs])
    )
    assert found.precision == pytest.approx(shared / n_given)
    assert found.recall == pytest.approx(shared / n_true)
    assert found.f1 == pytest.approx(2 * shared / (n_given + n_true))
    assigned = evaluation.assigned_quality()
    assert flat.precision == pytest.approx(assigned.precision)
    assert flat.recall == pytest.approx(assigned.recall)
    assert flat.f1 < evaluation.hierarchical_quality(0.5).f1 < found.f1
    with pytest.raises(ValueError, match="ancestor_weight must be from 0 to 1, got 2"):
        evaluation.hierarchical_quality(2)


def test_a_single_root_does_not_count():
    pairs = [("a", "root"), ("b", "root"), ("a1", "a")]
    texts, labels = ["one two", "three four"] * 30, [["a"], ["b"]] * 30
    tagger = Tagger().fit(texts, labels, hierarchy=Hierarchy.from_pairs(pairs))
    assert tagger.evaluate(["one two"], [["b"]]).hierarchical_quality().precision == 0.0
    plain = Tagger().fit(texts, labels)
    assert plain.evaluate(["one two"], [["b"]]).hierarchical_quality() is None


def test_labels_beyond_a_selection_are_not_chosen(tagger):
    chooser = Chooser(tagger.links, np.ones(3, bool))
    assert chooser.positions([5, 2, 0, -1], 4) == [1, 2]


def test_merged_models_have_the_relations_of_all():
    taggers = [
        Tagger().fit(["one two", "three"], [["a"], ["b"]], hierarchy=Hierarchy.from_pairs([(child, "top")]))
        for child in ("a", "b")
    ]
    assert abound.merge(*taggers).hierarchy.below("top") == ["a", "b", "top"]
    plain = Tagger().fit(["one two", "three"], [["a"], ["b"]])
    assert abound.merge(plain, plain).hierarchy is None
    assert abound.merge(plain, taggers[0]).hierarchy.path("a") == ["top", "a"]
