"""Prune a tagger to a memory limit."""

import numpy as np
from numpy.typing import NDArray

from abound.kernels.pool import FEATURE_BYTES
from abound.tagger.parts import TaggerParts

# Estimate for pruning: the header of a term, its slot in the vocabulary, and its name.
BYTES_PER_TERM = FEATURE_BYTES + 16 + 16 + 4
COMPACT_SHARE = 0.75  # releasing spare capacity is enough if the rest is below this share of the budget
PRUNED_SHARE = 0.6  # otherwise, terms are dropped down to this share
MAX_COUNT = 1000


def prune(tagger: TaggerParts, max_bytes: int) -> dict[str, int]:
    """Drop the rarest terms of a tagger, in place; see `Tagger.prune`."""
    terms, edges, least, wanted = tagger.n_features, tagger.n_edges, 0, rarest(tagger, max_bytes)
    if wanted is not None:
        counts = tagger.encoder.vocabulary.counts()[wanted]
        least = 0 if wanted.all() else int(counts.min(initial=MAX_COUNT))
        forget(tagger, wanted)
    return {"terms": terms - tagger.n_features, "edges": edges - tagger.n_edges, "least_count": least}


def rarest(tagger: TaggerParts, max_bytes: int) -> NDArray[np.bool_] | None:
    """Return which terms to keep to reach `max_bytes`; None if the tagger is already below it."""
    if tagger.nbytes <= max_bytes:
        return None
    counts, opinion = tagger.encoder.vocabulary.counts(), tagger.second_opinion
    vectors = 0 if opinion is None else min(opinion.nbytes, max_bytes // 2)  # the terms get what vectors leave
    return np.asarray(counts >= least_count(counts, tagger.ranker.feature_bytes(), max_bytes - vectors))


def forget(tagger: TaggerParts, wanted: NDArray[np.bool_]) -> None:
    """Drop all terms but the wanted ones, and release spare capacity."""
    tagger.ranker.keep_features(wanted)
    if not wanted.all():
        tagger.encoder.keep(wanted)
        tagger.ranker.n_features_in_ = tagger.n_features


def least_count(counts: NDArray[np.int32], feature_bytes: NDArray[np.int64], max_bytes: int) -> int:
    """Return the lowest count to keep so that the model can grow again; 0 to keep all terms."""
    needs = np.full(len(counts), BYTES_PER_TERM, np.int64)
    needs[: len(feature_bytes)] += feature_bytes
    if needs.sum() <= COMPACT_SHARE * max_bytes:
        return 0
    by_count = np.bincount(np.minimum(counts, MAX_COUNT), needs, MAX_COUNT + 1)
    kept = by_count[::-1].cumsum()[::-1]  # bytes of the terms with at least each count
    return int(np.argmax(kept <= PRUNED_SHARE * max_bytes)) if kept[-1] <= PRUNED_SHARE * max_bytes else MAX_COUNT
