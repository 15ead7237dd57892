"""The examples of a model: short texts of its training data, the same ones for the same data."""

import json
import random

import pytest

from abound import Tagger
from abound.errors import DamagedModel
from abound.store.directory import MANIFEST, read_manifest
from abound.tagger.examples import LONGEST, N_EXAMPLES, SEARCHED, SHORTEST, Examples, check_examples

TEXTS = [f"a text about the number {number}" for number in range(50)]


def test_the_order_of_the_texts_does_not_matter():
    shuffled = random.Random(0).sample(TEXTS, len(TEXTS))
    taggers = [Tagger().fit(texts, [["n"]] * len(texts)) for texts in (TEXTS, shuffled, TEXTS * 2)]
    assert len({tagger.examples for tagger in taggers}) == 1
    assert len(taggers[0].examples) == N_EXAMPLES
    assert set(taggers[0].examples) <= set(TEXTS)


def test_only_short_printable_texts_are_examples():
    examples = Examples()
    examples.add(["x" * (SHORTEST - 1), "x" * (LONGEST + 1), "a bell \x07 in a long text", "lone \ud800 " * 5])
    assert examples.chosen() == ()
    examples.add([{"title": "Roses in cold", "abstract": "climates of the north"}])
    assert examples.chosen() == ("Roses in cold climates of the north",)
    many = Examples()
    many.add(["too short"] * SEARCHED)
    many.add(TEXTS)
    assert many.chosen() == ()


def test_examples_are_saved_and_no_part_of_the_state(tmp_path):
    tagger = Tagger().fit(TEXTS, [["n"]] * len(TEXTS))
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").examples == tagger.examples
    without = Tagger().fit(TEXTS, [["n"]] * len(TEXTS), keep_examples=False)
    without.save(tmp_path / "without")
    first, second = (read_manifest(tmp_path / name) for name in ("model", "without"))
    assert first["state_hash"] == second["state_hash"]
    assert "examples" not in json.loads((tmp_path / "without" / MANIFEST).read_text())["content"]
    assert Tagger.load(tmp_path / "without").examples == ()


@pytest.mark.parametrize("given", ["text", [1], ["x"] * (N_EXAMPLES + 1), ["x" * (LONGEST + 1)], None])
def test_a_manifest_with_something_else_is_refused(given):
    with pytest.raises(DamagedModel, match="the examples of the model must be"):
        check_examples(given)
