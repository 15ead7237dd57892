"""The ranker of docs/extending.md goes through everything that our own rankers go through."""

import importlib.util
import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import abound
from abound import Tagger, merge
from abound.components import Component
from abound.estimators import estimator_class
from abound.rankers import Ranker
from tests.rankers.streams import stream

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
TEXTS = ["red apple", "green pear", "fast car", "old train", "apple pie", "slow train"] * 5
LABELS = [["fruit"], ["fruit"], ["vehicle"], ["vehicle", "rail"], ["fruit", "food"], ["rail"]] * 5


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Import the code of the page as a module."""
    path = tmp_path_factory.mktemp("toy") / "toy_ranker.py"
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("toy_ranker", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_ranker"] = module
    spec.loader.exec_module(module)
    return path


def test_it_has_fewer_than_60_lines(toy):
    assert len([line for line in toy.read_text().splitlines() if line.strip()]) < 60


@pytest.mark.usefixtures("toy")
def test_it_learns_ranks_and_explains():
    X, Y = stream(300)
    ranker = estimator_class("together")().fit(X, Y)
    online = estimator_class("together")()
    for row in range(300):
        online.partial_fit(X[[row]], [Y[row]])
    assert online.score(X, Y) == ranker.score(X, Y) > 0.3
    ranking = ranker.rank(X[:5], 3)
    for row, entries in enumerate(ranking):
        for label, score in entries:
            assert ranker.explain(X[[row]], label).score == pytest.approx(score)


@pytest.mark.usefixtures("toy")
def test_shards_merging_and_saving_keep_what_was_learnt(tmp_path):
    X, Y = stream(300)
    X.data = np.round(X.data * 8) / 8  # sums in any order are the same
    make = estimator_class("together")
    whole, shards = make().fit(X, Y), make(shards=3, n_jobs=2).fit(X, Y)
    assert shards.state_hash() == whole.state_hash()
    parts = [make().partial_fit(X[a:b], Y[a:b]) for a, b in ((0, 100), (100, 300))]
    assert merge(*parts).score(X, Y) == whole.score(X, Y)
    whole.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    assert loaded.state_hash() == whole.state_hash()
    assert loaded.partial_fit(X[:9], Y[:9]).state_hash() == whole.partial_fit(X[:9], Y[:9]).state_hash()


@pytest.mark.usefixtures("toy")
def test_a_tagger_learns_new_words_with_it_and_can_be_pruned(tmp_path):
    tagger = Tagger("together", language=None).fit(TEXTS, LABELS)
    assert tagger.rank("an apple", 1)[0].label == "fruit"
    tagger.learn("zorbulator", ["machines"])
    assert tagger.rank("zorbulator", 1)[0].label == "machines"
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").state_hash() == tagger.state_hash()
    tagger.prune(tagger.nbytes // 2)
    assert tagger.rank("apple", 1)[0].label == "fruit"


def test_the_server_serves_it_and_keeps_corrections(toy, tmp_path):
    Tagger("together", language=None).fit(TEXTS, LABELS).save(tmp_path / "model")
    start = "import toy_ranker; from abound.cli.app import app; app()"
    command = [sys.executable, "-c", start, "serve", "model", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(toy.parent), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        address = found_address(process)
        assert asked(address, "/v1/rank", {"text": "zorbulator apple", "k": 1})["labels"][0]["label"] == "fruit"
        lesson = {"text": "zorbulator", "added": ["machines"]}
        asked(address, "/v1/learn", lesson)
        assert asked(address, "/v1/rank", {"text": "zorbulator", "k": 1})["labels"][0]["label"] == "machines"
    finally:
        process.terminate()
        process.communicate(timeout=120)


def environment(folder: Path) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(folder)}


def found_address(process: subprocess.Popen) -> str:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        line = process.stderr.readline() or process.stdout.readline()
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found.group()
    raise AssertionError("the server did not say where it is")


def asked(address: str, path: str, body: dict) -> dict:
    request = urllib.request.Request(  # noqa: S310  our own address
        address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
        return json.loads(answer.read())


@pytest.mark.parametrize("base", [Component, Ranker])
def test_an_incomplete_class_cannot_be_made(base):
    """A class that leaves something of the contract out fails when it is made, not when it is used."""
    incomplete = type("Incomplete", (base,), {"kind": "incomplete"})
    with pytest.raises(TypeError, match="abstract"):
        incomplete()
