"""Changes between versions of a vocabulary."""

import pytest

from abound.data import Relations, Vocabulary
from abound.hierarchy.changes import KINDS, Change, compare


def changes(old, new, replaced=(), broader=((), ()), schemes=((), ())):
    before = Vocabulary(old, Relations(sorted(old), broader=broader[0], schemes=schemes[0]))
    after = Vocabulary(new, Relations(sorted(new), broader=broader[1], schemes=schemes[1], replaced=replaced))
    return compare(before, after)


A, B, C = ["a name"], ["b name", "other b"], ["c name"]


@pytest.mark.parametrize(
    ("old", "new", "replaced", "expected"),
    [
        ({"a": A}, {"a": A}, [], []),
        ({"a": A}, {"a": A, "b": B}, [], [Change("added", "b", after=tuple(B))]),
        ({"a": A}, {"a": C}, [], [Change("names", "a", before=tuple(A), after=tuple(C))]),
        ({"a": A, "b": B}, {"a": A}, [], [Change("removed", "b", before=tuple(B))]),
        ({"a": A, "b": B}, {"a": A}, [("b", "")], [Change("deprecated", "b", before=tuple(B))]),
        ({"a": A, "b": B}, {"a": A}, [("b", "a")], [Change("merged", "b", ("a",), before=tuple(B))]),
        ({"a": A}, {"b": A}, [("a", "b")], [Change("renamed", "a", ("b",), before=tuple(A))]),
        (
            {"a": A},
            {"b": B, "c": C},
            [("a", "b"), ("a", "c")],
            [
                Change("added", "b", after=tuple(B)),
                Change("added", "c", after=tuple(C)),
                Change("split", "a", ("b", "c"), before=tuple(A)),
            ],
        ),
        # a renamed concept with another name
        (
            {"a": A},
            {"b": B},
            [("a", "b")],
            [
                Change("renamed", "a", ("b",), before=tuple(A)),
                Change("names", "b", before=tuple(A), after=tuple(B)),
            ],
        ),
        # two concepts become a new one: the first is renamed, the second merged into it
        (
            {"a": A, "b": B},
            {"c": A},
            [("a", "c"), ("b", "c")],
            [
                Change("renamed", "a", ("c",), before=tuple(A)),
                Change("merged", "b", ("c",), before=tuple(B)),
            ],
        ),
        # chains are followed, and what is gone, too, is left out
        ({"a": A, "c": C}, {"c": C}, [("a", "b"), ("b", "c")], [Change("merged", "a", ("c",), before=tuple(A))]),
        ({"a": A, "c": C}, {"c": C}, [("a", "b"), ("a", "c")], [Change("merged", "a", ("c",), before=tuple(A))]),
        ({"a": A, "c": C}, {"c": C}, [("a", "b"), ("b", "a")], [Change("deprecated", "a", before=tuple(A))]),
    ],
)
def test_each_kind_of_change(old, new, replaced, expected):
    assert changes(old, new, replaced) == expected
    assert all(change.kind in KINDS for change in expected)


def test_a_concept_moves():
    names = {"a": A, "b": B, "c": C}
    moved = changes(names, names, broader=([("a", "b")], [("a", "c")]))
    assert moved == [Change("moved", "a", before=("b",), after=("c",))]
    assert changes(names, names, schemes=([("a", "s")], [("a", "t")])) == [Change("moved", "a")]
    assert changes(names, names, broader=([("a", "x")], [])) == []  # x was never a concept


def test_a_renamed_or_merged_parent_is_no_move():
    old, new = {"a": A, "b": B}, {"a": A, "d": B}
    found = changes(old, new, [("b", "d")], broader=([("a", "b")], [("a", "d")]))
    assert [change.kind for change in found] == ["renamed"]
    old, new = {"a": A, "b": B, "c": C}, {"a": A, "c": C}
    found = changes(old, new, [("b", "c")], broader=([("a", "b")], [("a", "c")]))
    assert [change.kind for change in found] == ["merged"]
    found = changes(old, new, [("b", "c")], broader=([("a", "b")], []))
    assert [change.kind for change in found] == ["merged", "moved"]
