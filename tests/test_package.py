"""The package as a whole: its public names, and that README's examples work as they stand."""

import importlib.metadata
import re
from pathlib import Path

import pytest

import abound

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def test_public_names_are_sorted_and_can_be_had():
    # Constants first, then classes, then functions, as the linter sorts them; MMP looks like a constant.
    assert abound.__all__ == sorted(abound.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    for name in abound.__all__:
        assert getattr(abound, name) is not None
    assert dir(abound) == sorted(abound.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Taggger'"):
        _ = abound.Taggger


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_readme_examples_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102  our own text


def test_readme_shows_what_an_example_gives():
    tagger = abound.Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    entry = tagger.rank("apple pie", k=3)[0]
    assert entry.probability is None  # two texts are too few
    shown = f"Entry(label='fruit', score={str(entry.score)[:6]}..., rank=1, probability=None)"
    assert shown in README


def test_the_version_is_that_of_the_package():
    assert abound.__version__ == importlib.metadata.version("abound")
