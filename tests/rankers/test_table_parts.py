"""The pairs of candidates are sorted part by part when a state is hashed or saved, so that nobody waits for all."""

import random
import time

import numpy as np
import pytest

from abound import Tagger, load
from abound.components import table_parts
from abound.components.second_stage import SecondStage

WORDS = [f"w{i}" for i in range(3000)]


@pytest.fixture(scope="module")
def tagger():
    """A tagger with some 500,000 pairs, all of them in tables of their own."""
    draw = random.Random(1)
    tagger = Tagger(ranker_params={"few_labels": 10, "candidates": 20})
    texts = [" ".join(draw.choices(WORDS, k=40)) for _ in range(1500)]
    tagger.learn_many(texts, [[f"l{draw.randrange(400)}"] for _ in texts])
    return tagger


def whole(source):
    return source if isinstance(source, np.ndarray) else np.concatenate(list(source.blocks()))


def test_parts_are_the_whole(tagger, monkeypatch):
    tables = tagger.ranker.component(SecondStage).store
    for size in (1, 1000, 10**9):
        monkeypatch.setattr(table_parts, "PART_PAIRS", size)
        found = table_parts.TableParts(tables).arrays()
        for part, wanted in zip(found, tables.arrays(), strict=True):
            assert whole(part).dtype == wanted.dtype
            np.testing.assert_array_equal(whole(part), wanted)
    for start, stop in ((-1, 2), (2, 1), (0, tables.n_features + 1)):
        with pytest.raises(ValueError, match="are outside"):
            tables.part(start, stop)


def test_a_part_is_a_small_one(tagger, monkeypatch):
    monkeypatch.setattr(table_parts, "PART_PAIRS", 10_000)
    tables = tagger.ranker.component(SecondStage).store
    longest = int(np.diff(tables.indptr()).max())
    _, labels, *_ = table_parts.TableParts(tables).arrays()
    sizes = [len(part) for part in labels.blocks()]
    assert sum(sizes) == tables.n_pairs
    assert 10 < len(sizes) <= tables.n_pairs // 10_000 + 1
    assert max(sizes) <= 10_000 + longest


def test_a_state_that_was_saved_in_parts_is_the_same(tagger, tmp_path, monkeypatch):
    wanted = tagger.state_hash()
    monkeypatch.setattr(table_parts, "PART_PAIRS", 777)
    assert tagger.state_hash() == wanted
    tagger.save(tmp_path / "model")
    assert load(tmp_path / "model").state_hash() == wanted


def test_nothing_is_sorted_before_it_is_read(tagger):
    def seconds(work):
        best = 1e9
        for _ in range(5):
            start = time.thread_time()
            work()
            best = min(best, time.thread_time() - start)
        return best

    assert seconds(lambda: tagger.arrays()) < 0.8 * seconds(tagger.ranker.component(SecondStage).store.arrays)
