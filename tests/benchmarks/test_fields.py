"""The fields of the data sets are those of the rows that the other benchmarks read."""

import pytest

from abound.texts import joined
from benchmarks import documents
from benchmarks.fields import SETS, TRIED, VARIANTS, table, with_own_terms


@pytest.mark.data
@pytest.mark.parametrize("name", SETS)
def test_fields_together_are_the_text_of_the_row(name, data_folder):
    fields = SETS[name]()
    train, test = documents.source(name).parts()
    for row in [*train[:200], *test[:200]]:
        assert joined(fields[row.place]).split() == row.text.split()
    assert sum(bool(fields[row.place]["title"]) for row in test) > 0.9 * len(test)


def test_variants_give_texts():
    fields = {"title": "Red roses", "body": "grow"}
    texts = {name: text_of(fields) for name, (text_of, _) in {**VARIANTS, **TRIED}.items()}
    assert (texts["title"], texts["body"], texts["joined"]) == ("Red roses", "grow", "Red roses\ngrow")
    assert texts["fields"] == fields
    assert texts["own"] == {"title": "qzRed qzroses", "body": "grow"}
    assert texts["both 1 + 1"] == {**fields, "own": with_own_terms("Red roses")}


def test_the_table_has_a_line_per_text():
    gain = {"P@1": [0.01, -0.002, 0.02], "P@3": [0.0, 0.0, 0.0]}
    metrics = {"P@1": [0.5, 0.4, 0.6], "P@3": [0.3, 0.2, 0.4]}
    figures = {"weights": {"title": 6.0}, "metrics": {"joined": metrics, "fields": metrics}, "gain": {"joined": gain}}
    lines = table({"a set": figures})
    assert lines[2].startswith("| a set | joined | 0.500 (0.400 to 0.600) | 0.300")
    assert "+0.010 (−0.002 to +0.020)" in lines[2]
    assert lines[3].startswith("| a set | **fields** (title 6) |")
