"""Merged indexes and pairs equal the plain-Python oracle, bit for bit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound.components.votes import PlainVotes, merge_pools
from abound.kernels.merge import Pruning, merge_features, merge_prototypes, renumber
from abound.kernels.pool import EDGE_DTYPE, EdgePool
from abound.kernels.prototypes import Prototypes
from abound.kernels.rated import RATED_DTYPE, RATING_DTYPE
from tests.reference.merge import NOTHING, Edge, Feature, Learnt, in_order, merge_feature, merge_learnt, pruned

pytestmark = pytest.mark.kernel

N_FEATURES, N_LABELS = 4, 6
HOW = Pruning(rated=True, w_min=0.05, horizon=1e3)
amounts = st.sampled_from([0.0625, 0.25, 0.5, 1.0, 3.0, 20.0]) | st.floats(0.015625, 30, width=32)
values = st.sampled_from([0.0, -0.5, 0.5, 2.0]) | st.floats(-3, 3, width=32).map(lambda x: x + 0.0)  # no -0
slopes = st.sampled_from([0.0, 0.25, 1.0]) | st.floats(0, 10, width=32)
learnt = st.builds(Learnt, values, slopes)
rules = st.fixed_dictionaries(
    {
        "w_min": st.sampled_from([0.0, 0.05, 0.3]),
        "horizon": st.sampled_from([8.0, 50.0, 65536.0]),
        "leak": st.booleans(),
    }
)


@st.composite
def indexes(draw, rule, rated):
    """Draw what an index could hold: features to lists that are pruned by the rule."""
    found = {}
    for f in draw(st.sets(st.integers(0, N_FEATURES - 1))):
        labels = draw(st.sets(st.integers(0, N_LABELS - 1)))
        edges = {c: Edge(draw(amounts), draw(learnt) if rated else NOTHING) for c in labels}
        total = sum(edge.weight for edge in edges.values()) + draw(st.sampled_from([0.0, 0.5, 3.0])) + 0.5
        feature = Feature(total, draw(st.integers(1, 9)), draw(learnt) if rated else NOTHING, edges)
        found[f] = pruned(feature, **rule)
    return found


@st.composite
def merges(draw):
    """Draw (rule, rated, base or None, shards)."""
    rule, rated = draw(rules), draw(st.booleans())
    base = draw(st.none() | indexes(rule, rated))
    return rule, rated, base, draw(st.lists(indexes(rule, rated), min_size=1, max_size=4))


def as_pool(index, rated):
    n = max(index, default=-1) + 1
    indptr, edges, totals = np.zeros(n + 1, np.int64), [], np.zeros(n)
    seen, ratings = np.zeros(n, np.int64), np.zeros(n, RATING_DTYPE)
    for f in range(n):
        feature = index.get(f, Feature(0.0, 0, NOTHING, {}))
        edges += [
            (c, edge.weight, *edge.correction) if rated else (c, edge.weight) for c, edge in feature.edges.items()
        ]
        indptr[f + 1], totals[f], seen[f], ratings[f] = len(edges), feature.total, feature.seen, tuple(feature.rating)
    places = 2 if rated else 1
    flat = np.array(edges, RATED_DTYPE if rated else EDGE_DTYPE).view(EDGE_DTYPE)
    return EdgePool.from_arrays(indptr * places, flat, totals, ratings.view(np.int64) if rated else seen)


def from_pool(pool, rated):
    """Return what a pool holds as an index, without features that it does not know."""
    indptr, totals, seen = pool.headers()
    edges = pool.edges(0, pool.n_features)
    if rated:
        indptr, edges, ratings = indptr // 2, edges.view(RATED_DTYPE), seen.view(RATING_DTYPE)
    index = {}
    for f in range(pool.n_features):
        found = {}
        for edge in edges[indptr[f] : indptr[f + 1]].tolist():
            found[edge[0]] = Edge(edge[1], Learnt(edge[2], edge[3]) if rated else NOTHING)
        if totals[f] or seen[f]:
            rating, count = (Learnt(*ratings[f].item()), 0) if rated else (NOTHING, int(seen[f]))
            index[f] = Feature(float(totals[f]), count, rating, found)
    return index


def oracle(rule, rated, base, shards):
    index = {}
    for f in range(N_FEATURES):
        before = None if base is None else base.get(f)
        found = [shard.get(f) for shard in shards]
        if before is not None or any(found):
            merged = merge_feature(before, found, **rule)
            merged = merged._replace(seen=0) if rated else merged
            if merged.total or merged.seen or merged.rating != NOTHING:
                index[f] = merged
    return index


def same(one, other):
    """Tell whether two indexes are equal, the order of their edges too."""
    return one == other and all(list(one[f].edges) == list(other[f].edges) for f in one)


@settings(deadline=None, max_examples=400)
@given(merges())
@example(({"w_min": 0.0, "horizon": 8.0, "leak": True}, True, None, [{}, {}]))
def test_a_merged_index_equals_the_oracle(case):
    rule, rated, base, shards = case
    pools = [as_pool(shard, rated) for shard in shards]
    start = None if base is None else as_pool(base, rated)
    for n_jobs in (1, 2):
        merged = merge_pools(start, pools, N_LABELS, Pruning(rated=rated, **rule), n_jobs)
        assert same(from_pool(merged, rated), oracle(rule, rated, base, shards))
    for pool, shard in zip(pools, shards, strict=True):  # what is merged stays as it was
        assert same(from_pool(pool, rated), {f: s._replace(seen=0) if rated else s for f, s in shard.items()})


def copied(pool):
    votes = PlainVotes()
    votes.store, votes.settings = pool, None
    return votes.fork().store


@settings(deadline=None, max_examples=200)
@given(merges(), st.lists(st.sets(st.integers(0, N_FEATURES - 1)), min_size=4, max_size=4))
def test_a_shard_may_leave_out_what_it_has_not_met(case, absent):
    rule, rated, base, shards = case
    base = base or {}
    as_before = [
        {f: base.get(f) if f in left_out else shard.get(f) for f in range(N_FEATURES)}
        for shard, left_out in zip(shards, absent, strict=False)
    ]
    whole = [{f: feature for f, feature in shard.items() if feature is not None} for shard in as_before]
    present = np.array([[f not in left_out for f in range(N_FEATURES)] for left_out in absent], np.uint8)
    pools = [as_pool({f: x for f, x in s.items() if f not in a}, rated) for s, a in zip(shards, absent, strict=False)]
    how = Pruning(rated=rated, **rule)
    found = merge_features(as_pool(base, rated), pools, 0, N_FEATURES, N_LABELS, how, present[: len(pools)].copy())
    wanted = merge_features(as_pool(base, rated), [as_pool(s, rated) for s in whole], 0, N_FEATURES, N_LABELS, how)
    for one, other in zip(found, wanted, strict=True):
        assert one.tobytes() == other.tobytes()
    with pytest.raises(ValueError, match="present must have one row for each shard"):
        merge_features(None, pools, 0, N_FEATURES, N_LABELS, how, present[:0])


@settings(deadline=None, max_examples=100)
@given(merges())
def test_two_shards_may_be_merged_in_either_order(case):
    rule, rated, base, shards = case
    pools = [as_pool(shard, rated) for shard in shards[:2]]
    start = None if base is None else as_pool(base, rated)
    how = Pruning(rated=rated, **rule)
    one, other = (merge_pools(start, part, N_LABELS, how) for part in (pools, pools[::-1]))
    assert same(from_pool(one, rated), from_pool(other, rated))


@settings(deadline=None, max_examples=100)
@given(merges())
def test_an_empty_shard_and_a_copy_change_nothing(case):
    rule, rated, _, shards = case
    pool = as_pool(shards[0], rated)
    wanted = from_pool(pool, rated)
    for found in (
        merge_pools(None, [pool, EdgePool()], N_LABELS, Pruning(rated=rated, **rule)),
        merge_pools(None, [EdgePool(), pool], N_LABELS, Pruning(rated=rated, **rule)),
        merge_pools(pool, [pool, pool], N_LABELS, Pruning(rated=rated, **rule)),  # shards that learnt nothing
        copied(pool),
    ):
        assert same(from_pool(found, rated), wanted)


def test_what_a_shard_dropped_is_taken_off():
    base = {0: Feature(10.0, 0, NOTHING, {1: Edge(4.0, Learnt(1.0, 2.0)), 2: Edge(6.0)})}
    dropped = {0: Feature(90.0, 0, NOTHING, {2: Edge(86.0)})}
    grown = {0: Feature(15.0, 0, NOTHING, {1: Edge(9.0, Learnt(3.0, 6.0)), 2: Edge(6.0)})}
    merged = merge_pools(as_pool(base, True), [as_pool(dropped, True), as_pool(grown, True)], 3, HOW)
    (feature,) = from_pool(merged, True).values()
    assert feature.total == 95.0
    assert feature.edges == {2: Edge(86.0), 1: Edge(5.0, Learnt(3.0, 6.0))}


def test_long_lists_are_in_order():
    rng = np.random.default_rng(0)
    shards = []
    for _ in range(3):
        labels = rng.choice(400, 150, replace=False).tolist()
        edges = in_order({c: Edge(float(rng.integers(1, 9))) for c in labels})
        shards.append({0: Feature(1000.0, 0, NOTHING, edges)})
    rule = {"w_min": 0.0, "horizon": 65536.0, "leak": True}
    merged = merge_pools(None, [as_pool(shard, False) for shard in shards], 400, Pruning(rated=False, **rule))
    assert same(from_pool(merged, False), {0: merge_feature(None, [s[0] for s in shards], **rule)})


@settings(deadline=None, max_examples=100)
@given(merges(), st.permutations(range(N_FEATURES)), st.permutations(range(N_LABELS)))
def test_an_index_is_numbered_anew(case, features, labels):
    _, rated, _, (index, *_) = case
    found = renumber(as_pool(index, rated), np.array(features, np.int32), np.array(labels, np.int32), rated=rated)
    wanted = {}
    for f, feature in index.items():
        edges = in_order({labels[c]: edge for c, edge in feature.edges.items()})
        wanted[features[f]] = feature._replace(edges=edges, seen=0 if rated else feature.seen)
    assert same(from_pool(found, rated), wanted)


def test_numbers_outside_their_range_are_refused():
    pool = as_pool({0: Feature(1.0, 1, NOTHING, {5: Edge(1.0)})}, False)
    with pytest.raises(IndexError, match="a label that does not exist"):
        renumber(pool, np.zeros(1, np.int32), np.zeros(2, np.int32), rated=False)
    with pytest.raises(ValueError, match="the pool has 1 features, but there are numbers for 0"):
        renumber(pool, np.zeros(0, np.int32), np.zeros(9, np.int32), rated=False)
    with pytest.raises(IndexError, match="a label that does not exist"):
        merge_features(None, [pool, pool], 0, 1, 2, Pruning(rated=False, horizon=9.0))


pair_stores = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 19)), learnt, max_size=30)


def as_store(pairs):
    kept = sorted((pair, value) for pair, value in pairs.items() if value != NOTHING)
    counts = np.bincount([f for (f, _), _ in kept], minlength=1) if kept else np.zeros(0, int)
    return Prototypes.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([label for (_, label), _ in kept], np.int32),
        np.array([value.value for _, value in kept], np.float32),
        20,
        np.array([value.slope for _, value in kept], np.float32),
        may_be_dense=True,
    )


@settings(deadline=None, max_examples=200)
@given(st.just({}) | pair_stores, st.lists(pair_stores, min_size=1, max_size=3))
def test_merged_pairs_equal_the_oracle(base, shards):
    indptr, labels, weights, slopes = merge_prototypes(as_store(base), [as_store(shard) for shard in shards], 20)
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)).tolist()
    found = dict(
        zip(zip(owners, labels.tolist(), strict=True), zip(weights.tolist(), slopes.tolist(), strict=True), strict=True)
    )
    wanted = {}
    for pair in {pair for store in (base, *shards) for pair, value in store.items() if value != NOTHING}:
        having = [shard[pair] for shard in shards if shard.get(pair, NOTHING) != NOTHING]
        wanted[pair] = tuple(merge_learnt(base.get(pair, NOTHING), having))
    assert found == wanted
    assert list(found) == sorted(found)


def test_pairs_without_sums_of_squares_are_refused():
    with pytest.raises(ValueError, match="only pairs with sums of squared gradients"):
        merge_prototypes(Prototypes(has_aux=True), [Prototypes()], 3)
