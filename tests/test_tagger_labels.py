"""What a tagger warns of when it is given labels that are most likely not what was meant."""

import warnings

import pytest

from abound import Tagger
from abound.errors import LabelsWarning

TEXTS = ["a red apple", "a red car", "a green pear", "a lorry"]


def test_no_labels_at_all():
    with pytest.warns(LabelsWarning, match="none of the 4 texts has a label"):
        Tagger().fit(TEXTS, [[], [], [], []])


def test_lists_that_were_taken_for_labels():
    with pytest.warns(LabelsWarning, match=r"75% of the rows .* give them as a list: \['fruit', 'red'\]") as found:
        Tagger().fit(TEXTS, [["fruit; red"], ["vehicle; red"], ["green; fruit"], ["vehicle"]])
    assert found[0].filename == __file__


def test_labels_of_any_kind_that_are_all_right():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tagger().fit(TEXTS, [[1], [2], [3], []])
        Tagger().fit(TEXTS, [["Smith, John"], ["Smith, Jane"], ["Jones, John"], ["Jones, Jane"]])
        Tagger().fit([], [])
