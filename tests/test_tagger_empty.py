"""A text without a known word has no ranking, and a warning says why."""

import warnings

import pytest

from abound import Tagger
from abound.errors import EmptyRanking


@pytest.fixture(scope="module")
def tagger():
    return Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("zebra", "no known word: its only word does not occur in the training texts"),
        ("zebras and giraffes", "no known word: none of its 3 words occurs in the training texts"),
        (" ... ", "the text has no words"),
    ],
)
def test_why_one_ranking_is_empty(tagger, text, why):
    with pytest.warns(EmptyRanking) as found:
        assert tagger.rank(text) == []
    assert [str(warning.message) for warning in found] == [f"the ranking is empty: {why}"]
    assert found[0].filename == __file__


def test_many_empty_rankings_are_one_warning(tagger):
    with pytest.warns(EmptyRanking) as found:
        assert [len(entries) for entries in tagger.rank_many(iter(["an apple", "zebra", "x y"]), 1)] == [1, 0, 0]
    assert len(found) == 1
    assert str(found[0].message).startswith("2 of 3 rankings are empty; the first: no known word")


def test_a_tagger_that_has_learnt_nothing_says_so():
    with pytest.warns(EmptyRanking, match="has not learned any label yet"):
        assert Tagger().rank("a text") == []


def test_no_warning_where_there_is_a_ranking(tagger):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tagger.rank("an apple")
        assert tagger.rank_many([]) == []
