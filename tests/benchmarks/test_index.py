"""Short runs of the benchmarks, so that none rots, with generous bounds for busy machines."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import abound
from abound.metrics import evaluate
from benchmarks import index, sets
from tests.rankers.streams import stream

ROOT = Path(__file__).resolve().parents[2]


def test_time_a_row_does_not_grow_with_the_label_set():
    figures = index.labels(counts=(1_000, 1_000_000), n_rows=5_000, rounds=8)
    assert figures["ratio"] < 6  # a loop over all labels would be a thousand


def test_half_a_million_edges_are_learnt_saved_mapped_and_ranked():
    figures = index.size(500_000)
    assert figures["edges"] >= 500_000
    assert figures["bytes_an_edge"] < 16
    assert figures["bytes_an_edge_compact"] < 12


def test_a_long_stream_neither_freezes_nor_overflows():
    figures = index.year(5_000_000)
    known, unseen = figures["longest_horizon"], figures["horizon_4"]
    for run, horizon in ((known, 65536), (unseen, 4)):
        assert run["seen"] == run["updates"]
        assert horizon / 2 < run["total"] <= horizon
    # The history kept is up to 1.3 million updates long, and half a million follow of the one label.
    assert known["share_before"] == pytest.approx(0.3, abs=0.01)
    assert known["share_after"] > 0.5
    assert unseen["share_before"] == 0.0
    assert unseen["share_after"] > 0.9


def test_the_paper_freezes_on_a_drifting_stream_and_a_horizon_does_not():
    # Few features, so that each has seen hundreds of rows when the labels change.
    X, names = stream(6_000, n_features=40, n_labels=12)
    ids = {name: i for i, name in enumerate(sorted({name for row in names for name in row}))}
    Y = sp.lil_matrix((len(names), len(ids)))
    for row, labels in enumerate(names):
        Y[row, [ids[name] for name in labels]] = 1
    frozen, following = (index.drift_curve(sp.csr_matrix(X), sp.csr_matrix(Y), 500, h) for h in (None, 20.0))
    assert frozen[5] > 0.5
    assert frozen[-1] < 0.1
    assert following[-1] > 0.4


@pytest.mark.data
def test_the_kernel_costs_little_more_than_a_bare_loop(data_folder, made_counts):
    # It is 1.7 on a quiet machine. The lowest of three, because another process may take the cache. Words of made
    # titles have few edges, so that what the kernel does once for each row takes a greater share.
    assert min(index.bare("finna-10k", rounds=10)["ratio"] for _ in range(3)) < (8 if made_counts else 4)


@pytest.mark.data
def test_finna_recipe_is_the_one_that_the_figures_are_for(data_folder, made_counts):
    data = sets.load("finna-10k")
    assert data.X_train.shape == (10_000, data.X_train.shape[1] if made_counts else 20_013)
    norms = sp.linalg.norm(data.X_train, axis=1)
    assert np.allclose(norms[norms > 0], 1.0)
    ranker = abound.FeatureFocus().fit(data.X_train, data.Y_train)
    assert evaluate(sp.csr_array(data.Y_test), ranker.rank(data.X_test, 5), ["P@1"])["P@1"] > 0.06
