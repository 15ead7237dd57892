"""Join rankers that were trained on different days or in different places; labels are matched by name."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from abound.kernels.merge import renumbered
from abound.kernels.pairs import PairTables
from abound.kernels.prototypes import Prototypes
from abound.rankers.base import Ranker
from abound.rankers.cascade import TRIAL_ROWS, CascadeRanker
from abound.rankers.frequency import FrequencyRanker
from abound.rankers.index import IndexRanker
from abound.rankers.labels import LabelBook
from abound.rankers.shards import merge_pairs, merge_pools, merge_tables

AnyRanker = TypeVar("AnyRanker", bound=Ranker)
PairArrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]
# Parameters of `fit` alone, which leave no trace in how a model ranks and goes on learning.
FREE = ("n_jobs", "shards", "rounds", "passes", "random_state")


def merge_rankers(rankers: Sequence[AnyRanker], numbers: Sequence[NDArray[np.int32]] | None = None) -> AnyRanker:
    """Return a ranker that knows what all of them learnt.

    Labels are matched by name, and keep the numbers that the first ranker gave them; features are matched by column,
    or by `numbers`, which has the new number of each feature of each ranker.
    """
    first = rankers[0]
    for ranker in rankers:
        ranker._check_fitted()
    check_alike(rankers)
    merged = type(first)(**first._params())
    merged._start()
    maps = [_add_labels(merged.labels_, ranker) for ranker in rankers]
    merged.n_rows_seen_ = sum(ranker.n_rows_seen_ for ranker in rankers)
    merged.n_features_in_ = max(ranker.n_features_in_ for ranker in rankers)
    for ranker in reversed(rankers):  # so that the first has the last word
        merged._form = ranker._form
        if hasattr(ranker, "feature_names_in_"):
            merged.feature_names_in_ = ranker.feature_names_in_
    if isinstance(merged, CascadeRanker):
        _merge_cascades(merged, [ranker for ranker in rankers if isinstance(ranker, CascadeRanker)], maps, numbers)
    elif isinstance(merged, IndexRanker):
        _merge_indexes(merged, [ranker for ranker in rankers if isinstance(ranker, IndexRanker)], maps, numbers)
    return merged


def check_alike(rankers: Sequence[Ranker]) -> None:
    """Raise unless the rankers are of one kind that can be merged, with the same parameters and columns."""
    first = rankers[0]
    if not isinstance(first, IndexRanker | FrequencyRanker):
        mergeable = "'cascade', 'feature-focus' or 'frequency'"
        raise ValueError(f"rankers of kind {mergeable} can be merged, but not one of kind {first.kind!r}")
    for other in rankers[1:]:
        if other.kind != first.kind:
            raise ValueError(f"rankers of one kind can be merged, but these are {first.kind!r} and {other.kind!r}")
        check_params(first._params(), other._params())
        if not _columns_agree(getattr(first, "feature_names_in_", None), getattr(other, "feature_names_in_", None)):
            raise ValueError("the rankers' columns have different names; features are matched by column")


def check_params(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Raise unless two models have the same parameters, those of `fit` apart."""
    differing = [name for name in first if name not in FREE and first[name] != other[name]]
    if differing:
        found = ", ".join(f"{name} ({first[name]!r} and {other[name]!r})" for name in differing)
        raise ValueError(f"models must have the same parameters to be merged, but these differ in {found}")


def _columns_agree(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return True
    n = min(len(one), len(other))
    return bool(np.all(one[:n] == other[:n]))


def _add_labels(book: LabelBook, ranker: Ranker) -> NDArray[np.int32]:
    """Make a ranker's labels known, add their counts, and return the number that each has in the book."""
    book.add(ranker.labels_.names)
    numbers = np.array([book.id_of(name) for name in ranker.labels_.names], np.int32)
    book.counts[numbers] += ranker._counts()
    return numbers


def _merge_indexes(
    merged: IndexRanker,
    rankers: Sequence[IndexRanker],
    maps: Sequence[NDArray[np.int32]],
    numbers: Sequence[NDArray[np.int32]] | None,
) -> None:
    pools = []
    for place, (ranker, labels) in enumerate(zip(rankers, maps, strict=True)):
        pool = ranker._pool
        n = pool.n_features
        features = np.arange(n, dtype=np.int32) if numbers is None else numbers[place]
        same = np.array_equal(features[:n], np.arange(n)) and np.array_equal(labels, np.arange(len(labels)))
        pools.append(pool if same else renumbered(pool, features, labels, rated=ranker._is_rated()))
    merged._use(merge_pools(None, pools, len(merged.labels_), merged._pruning()))


def _merge_cascades(
    merged: CascadeRanker,
    rankers: Sequence[CascadeRanker],
    maps: Sequence[NDArray[np.int32]],
    numbers: Sequence[NDArray[np.int32]] | None,
) -> None:
    """Merge what both have: a young model has an index and pairs, an older one has let go of one of them."""
    indexed = all(ranker._indexed for ranker in rankers)
    paired = all(ranker._pairs is not None for ranker in rankers)
    if not indexed and not paired:
        raise ValueError(
            f"one model has more than few_labels={merged.few_labels} labels and keeps an index, another has fewer and "
            "keeps pairs; train both with the same few_labels, 0 or more than there are labels, to merge them"
        )
    merged._n_learnt = sum(ranker._n_learnt for ranker in rankers)
    if indexed and paired:
        if len(merged.labels_) > merged.few_labels:
            paired = False
        elif merged._n_learnt >= TRIAL_ROWS:
            indexed = False
    n_labels = len(merged.labels_)

    def renumbered_arrays(kept: Sequence[Prototypes | PairTables | None]) -> list[PairArrays]:
        found = []
        for place, (pairs, labels) in enumerate(zip(kept, maps, strict=True)):
            if pairs is not None:  # a young model may have no pairs of candidates
                features = None if numbers is None else numbers[place]
                found.append(_renumbered_pairs(cast("PairArrays", pairs.arrays()), labels, features))
        return found

    if indexed:
        _merge_indexes(merged, rankers, maps, numbers)
        tables = [PairTables.from_arrays(*found) for found in renumbered_arrays([r._tables for r in rankers])]
        several = sum(one.n_pairs > 0 for one in tables) > 1  # one alone stays as it is
        merged._tables = merge_tables(PairTables(), tables, n_labels, tidy=several) if tables else None
    else:
        merged._let_go_of_index()
    if not paired:
        merged._let_go_of_pairs()
        return
    stores = [
        Prototypes.from_arrays(indptr, found, weights, n_labels, slopes, may_be_dense=True)
        for indptr, found, weights, slopes in renumbered_arrays([ranker._pairs for ranker in rankers])
    ]
    merged._pairs = merge_pairs(Prototypes(traced=True, may_be_dense=True), stores, n_labels)


def _renumbered_pairs(arrays: PairArrays, labels: NDArray[np.int32], features: NDArray[np.int32] | None) -> PairArrays:
    """Return the arrays of pairs with other numbers, in their order."""
    indptr, found, weights, slopes = arrays
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    n_features = len(indptr) - 1
    if features is not None:
        numbers = np.concatenate([[0], features[: n_features - 1].astype(np.int64) + 1])  # 0 is what all rows have
        owners, n_features = numbers[owners], int(numbers[:n_features].max(initial=-1)) + 1
    found = labels[found] if len(found) else found
    order = np.lexsort((found, owners))
    lengths = np.bincount(owners, minlength=n_features)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return indptr, found[order], weights[order], slopes[order]
