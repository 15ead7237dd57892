"""Select labels of a ranker by the concepts of a hierarchy."""

import time

import numpy as np
import pytest

from abound.data import Relations
from abound.hierarchy import Hierarchy
from abound.hierarchy.links import LabelLinks
from abound.rankers.labels import LabelIndex
from abound.tagger.naming import NameResolver


def index(names):
    labels = LabelIndex()
    labels.add(names)
    return labels


@pytest.fixture
def links():
    relations = Relations(
        broader=[("cats", "mammals"), ("mice", "mammals"), ("mammals", "animals"), ("oaks", "plants")],
        matches=[("mammals", "other:mammalia"), ("cats", "other:pets"), ("mice", "other:pets")],
        schemes=[("oaks", "s:trees"), ("plants", "s:trees")],
        scheme_names={"s:trees": "Trees"},
    )
    return LabelLinks(Hierarchy.of(relations), index(["oaks", "cats", "mice", "mammals", "stones", 7]))


def selected(links, only, without=(), names=None):
    mask = links.select(only, without, NameResolver(lambda: names or {}).one)
    return [name for name, is_allowed in zip(links.labels.names, mask, strict=True) if is_allowed]


def test_branches_schemes_matches_and_names(links):
    assert selected(links, ["animals"]) == ["cats", "mice", "mammals"]  # a concept that is no label itself
    assert selected(links, ["other:mammalia"]) == ["cats", "mice", "mammals"]
    assert selected(links, ["s:trees"]) == selected(links, ["Trees"]) == ["oaks"]
    assert selected(links, ["=mammals", "stones", 7]) == ["mammals", "stones", 7]
    assert selected(links, None, ["mammals", "=stones"]) == ["oaks", 7]
    names = {"mammals": ["Mammalia", "cats"], "stones": ["Rocks"]}
    assert selected(links, ["mammalia", "rocks"], names=names) == ["cats", "mice", "mammals", "stones"]
    with pytest.raises(ValueError, match="'other:pets' is not a label"):  # it matches two concepts
        selected(links, ["other:pets"])


def test_a_selection_follows_new_and_renamed_labels(links):
    assert selected(links, ["plants"]) == ["oaks"]
    links.labels.add(["plants"])
    assert selected(links, ["plants"]) == ["oaks", "plants"]
    links.labels.rename("oaks", "trees")
    links.hierarchy.rename("oaks", "trees")
    links.forget()
    assert selected(links, ["=trees", "=oaks"]) == ["trees"]
    assert selected(links, ["plants"]) == ["trees", "plants"]


def test_many_items_take_little_more_than_one():
    n = 20_000
    hierarchy = Hierarchy.from_pairs((f"{i}", f"{i // 10}") for i in range(1, n))
    links = LabelLinks(hierarchy, index([str(i) for i in range(n)]))
    names = {str(i): [f"name {i}"] for i in range(n)}
    resolver = NameResolver(lambda: names)

    def seconds(only):
        started = time.perf_counter()
        links.select(only, (), resolver.one)
        return time.perf_counter() - started

    seconds(["1"])
    one = min(seconds([f"name {i}"]) for i in range(1, 6))
    assert seconds([f"name {i}" for i in range(100, 5_100)]) < 50 * one + 0.5  # not 5,000 times as much


def test_labels_without_a_concept_have_nothing_above_them(links):
    assert links.concepts().tolist() == [4, 1, 3, 2, -1, -1]
    assert links.above(4) == {}
    assert links.above(1) == {2: 1, 0: 2}
    assert np.array_equal(links.select(["stones"], (), lambda _: None), [False] * 4 + [True, False])
