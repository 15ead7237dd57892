"""Candidates weighed by pairs equal their plain-Python oracle, bit for bit and after every row."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound.kernels.pairs import PRUNING_THRESHOLD, PairTables
from abound.kernels.prototypes import check_prototypes
from tests.kernels.drivers import Index, rated_state, table_state, weighed_votes
from tests.kernels.streams import any_stream, extreme, long_stream, numbered, streams
from tests.kernels.test_rated import USUAL
from tests.reference.weighed import COMMON, SHARE, WeighedOracle

pytestmark = pytest.mark.kernel

FIRST_TIDYING = 1 << 16
options = st.fixed_dictionaries(
    {
        "n_candidates": st.sampled_from((1, 2, 20, 40)),
        "d_max": st.sampled_from((1, 2, 25)),
        "w_min": st.sampled_from((0.0, 0.01, 0.3)),
    }
).map(lambda changed: {**USUAL, **changed})
seeds = st.none() | st.integers(0, 99)
CANDIDATES = {**USUAL, "n_candidates": 3, "w_min": 0.0}


def check_row_by_row(options, stream, seed=None, before=0):
    """Learn a stream in two ways, and compare them after every row."""
    index, oracle = Index(options), WeighedOracle(**options)
    examples = numbered(stream, seed)
    for number, e in enumerate(examples, before):
        assert index.rank(e.row, e.n_labels) == oracle.rank(e.row)
        index.learn([e], rejections=seed is not None, before=number)
        if number >= FIRST_TIDYING and number & (number - 1) == 0:
            oracle.tidy()
        oracle.learn(e.row, e.labels, e.wrong)
        assert index.state() == rated_state(oracle, index.pool.n_features)
        assert table_state(index.tables) == oracle.pairs
        assert index.rank(e.row, e.n_labels) == oracle.rank(e.row)
        assert index.tables.n_pairs == len(oracle.pairs)
        indptr, labels, weights, slopes = index.tables.arrays()
        assert check_prototypes(indptr, labels, weights, e.n_labels, slopes) is None
    return index, oracle, examples


@settings(deadline=None, max_examples=200)
@given(options, any_stream, seeds)
@example(CANDIDATES, [({}, [], 0)], None)
@example(CANDIDATES, [({}, [7], 2), ({3: 1.0}, [], 0), ({3: 1.0}, [7, 7], 0)], 1)
def test_pairs_and_ranking_equal_the_oracle_after_every_row(options, stream, seed):
    index, oracle, examples = check_row_by_row(options, stream, seed)
    n_labels = examples[-1].n_labels
    for e in examples:
        assert index.rank(e.row, n_labels) == oracle.rank(e.row)
        assert index.rank(e.row, n_labels, 2) == oracle.rank(e.row)[:2]


@settings(deadline=None, max_examples=100)
@given(options, streams(extreme, max_rows=10), seeds)
def test_values_at_the_ends_of_single_precision_equal_the_oracle(options, stream, seed):
    check_row_by_row(options, stream, seed)


@pytest.mark.parametrize("exact", [True, False], ids=["dyadic", "arbitrary"])
@pytest.mark.parametrize("n_candidates", [2, 20])
def test_long_streams_equal_the_oracle_in_both_passes(n_candidates, exact):
    options = {**CANDIDATES, "n_candidates": n_candidates}
    index, oracle, examples = check_row_by_row(options, long_stream(1, 150, 12, 60, exact), 1)
    assert any(weight < 0 for weight, _ in oracle.pairs.values())
    for e in examples:
        index.learn([e._replace(n_labels=60)], again=True)
        oracle.learn(e.row, e.labels, again=True)
        assert table_state(index.tables) == oracle.pairs
        assert index.state() == rated_state(oracle, index.pool.n_features)


def test_pairs_are_tidied_at_a_doubling_of_the_rows():
    stream = long_stream(2, 120, 12, 60, exact=False)
    index, oracle, examples = check_row_by_row(CANDIDATES, stream, before=FIRST_TIDYING - 100)
    untidied = Index(CANDIDATES)
    untidied.learn(examples)
    assert len(oracle.pairs) < untidied.tables.n_pairs
    in_one_go = Index(CANDIDATES)
    in_one_go.learn(examples, before=FIRST_TIDYING - 100, rejections=False)
    assert table_state(in_one_go.tables) == table_state(index.tables)


@settings(deadline=None, max_examples=80)
@given(options, any_stream, seeds, st.data())
def test_chunks_of_any_size_reach_the_same_state(options, stream, seed, data):
    examples = numbered(stream, seed)
    single, chunked, start = Index(options), Index(options), 0
    for e in examples:
        single.learn([e])
    while start < len(examples):
        end = start + data.draw(st.integers(1, len(examples) - start), label="chunk")
        chunked.learn(examples[start:end])
        start = end
    assert table_state(chunked.tables) == table_state(single.tables)


@settings(deadline=None, max_examples=60)
@given(options, any_stream, st.data())
def test_a_store_that_was_opened_ranks_and_explains_as_before(options, stream, data):
    examples = numbered(stream)
    index = Index(options)
    cut = data.draw(st.integers(1, len(examples)), label="rows before")
    index.learn(examples[:cut])
    opened = Index(options, index.pool)
    arrays = index.tables.arrays()
    opened.tables = PairTables.from_arrays(*arrays)
    for e in examples:
        assert opened.rank(e.row, e.n_labels) == index.rank(e.row, e.n_labels)
        assert weighed_votes(opened, e.row, 0) == weighed_votes(index, e.row, 0)


@pytest.mark.parametrize("exact", [True, False], ids=["dyadic", "arbitrary"])
def test_an_opened_store_goes_on_as_the_one_that_was_not_saved(exact):
    examples = numbered(long_stream(3, 120, 12, 60, exact))
    plain, saved = Index(CANDIDATES), Index(CANDIDATES)
    for start in range(0, 120, 30):
        for index in (plain, saved):
            index.learn(examples[start : start + 30])
        saved.tables = PairTables.from_arrays(*saved.tables.arrays())
        assert table_state(saved.tables) == table_state(plain.tables)
        assert saved.tables.n_pairs == plain.tables.n_pairs


@pytest.mark.parametrize("again", [True, False], ids=["later pass", "tables that grow"])
def test_the_mean_of_a_pass_is_that_of_the_states_after_each_row(again):
    examples = numbered(long_stream(4, 80, 12, 40, exact=False))
    index, states = Index(CANDIDATES), []
    index.learn(examples if again else examples[:1])
    index.tables.reset_averages()
    n_labels = examples[-1].n_labels
    for number, e in enumerate(examples):
        index.learn([e._replace(n_labels=n_labels)], again=again, before=number)
        states.append(table_state(index.tables))
    index.tables.average_weights(len(examples))
    for key, (weight, squares) in table_state(index.tables).items():
        mean = np.mean([state.get(key, (0.0, 0.0))[0] for state in states])
        assert weight == pytest.approx(mean, abs=1e-5)
        assert squares == states[-1][key][1]


def test_tidying_keeps_what_weighs_something():
    index, oracle, _ = check_row_by_row(CANDIDATES, long_stream(5, 150, 12, 60, exact=False))
    before = index.tables.n_pairs
    assert index.tables.prune() is index.tables
    oracle.tidy()
    assert table_state(index.tables) == oracle.pairs
    assert 0 < index.tables.n_pairs == len(oracle.pairs) < before
    assert min(abs(weight) for weight, _ in oracle.pairs.values()) >= PRUNING_THRESHOLD


def test_only_wanted_features_are_kept():
    index, _, _ = check_row_by_row(CANDIDATES, long_stream(6, 80, 12, 40, exact=True))
    wanted = np.arange(index.tables.n_features) % 3 == 0
    numbers = np.cumsum(wanted) - 1
    expected = {(int(numbers[f]), c): pair for (f, c), pair in table_state(index.tables).items() if wanted[f]}
    assert table_state(index.tables.kept(wanted)) == expected


def test_what_features_add_sums_to_the_weight_and_with_the_votes_to_the_score():
    index, oracle, examples = check_row_by_row({**CANDIDATES, "n_candidates": 20}, long_stream(7, 100, 12, 30, True))
    n_labels, n_seen = examples[-1].n_labels, 0
    for e in examples[-30:]:
        for label, score in index.rank(e.row, n_labels)[:20]:
            weights, prior = weighed_votes(index, e.row, label)
            assert prior == COMMON * oracle.pairs.get((0, label), (0.0, 0.0))[0]
            total = sum(weights.values()) + prior
            assert total == pytest.approx(oracle.weight(e.row, label), abs=1e-12)
            votes, _ = index.explain(e.row, label)
            assert score == pytest.approx(sum(vote for _, vote in votes) + SHARE * total, abs=1e-9)
            n_seen += total != 0
    assert n_seen > 20


def test_a_rejected_label_loses_weight_and_no_other_does():
    index, _, examples = check_row_by_row(CANDIDATES, long_stream(8, 100, 12, 30, exact=False))
    e = next(e for e in reversed(examples) if len(e.row) > 1 and index.rank(e.row, e.n_labels))
    n_labels = examples[-1].n_labels
    label = index.rank(e.row, n_labels)[0][0]
    before = table_state(index.tables)
    index.learn([e._replace(labels=[], wrong=[label, -1, n_labels], n_labels=n_labels)])
    after = table_state(index.tables)
    assert all(after[key] == pair for key, pair in before.items() if key[1] != label)
    for f in e.row:
        assert after[f + 1, label][0] < before.get((f + 1, label), (0.0, 0.0))[0]


def test_ranks_are_prefixes_of_each_other_and_scores_fall():
    index, _, examples = check_row_by_row(CANDIDATES, long_stream(9, 120, 12, 60, exact=False))
    n_labels = examples[-1].n_labels
    for e in examples[-20:]:
        whole = index.rank(e.row, n_labels)
        assert [score for _, score in whole] == sorted((score for _, score in whole), reverse=True)
        for k in (1, 3, 10):
            assert index.rank(e.row, n_labels, k) == whole[:k]
