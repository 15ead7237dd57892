"""The comparison of our small parts with libraries."""

import json

from benchmarks import libraries


def test_the_parts_exist_and_are_counted():
    found = libraries.lines()
    assert set(found) == set(libraries.LINES)
    assert all(n > 20 for n in found.values())


def test_our_interval_is_that_of_scipy():
    found = libraries.bootstrap()
    assert found["ours"] == found["scipy"]


def test_the_table_has_a_line_for_each_part():
    lines = libraries.show(json.loads(libraries.RESULT.read_text()))
    assert [line.split("|")[1].strip() for line in lines[2:-2]] == list(libraries.LINES)
