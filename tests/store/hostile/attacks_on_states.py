"""Attacks on the arrays of a model: states that cannot have been learned."""

import numpy as np

from abound.kernels.rated import RATED_DTYPE
from abound.store.names import encode_names
from tests.store.hostile.forge import array, arrays, put

NAN, INF = float("nan"), float("inf")


def names_of(*raw):
    """Names as they would be written, from their very bytes."""
    offsets = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(name) for name in raw], out=offsets[1:])
    data = np.frombuffer(b"".join(raw), np.uint8)
    return data, offsets


def labels(raw):
    """Give a model other names of labels; the first of them is `raw`."""

    def made(found):
        rest = [b"s%d" % i for i in range(len(found["label_offsets"]) - 2)]
        return names_of(raw, *rest)

    return arrays(label_names=lambda f: made(f)[0], label_offsets=lambda f: made(f)[1])


def swapped(found):
    found[[0, 1]] = found[[1, 0]]
    return found


def rated_for_plain(found):
    """Give a plain index the longer edges of a rated one, in whose second half a label could be anything."""
    edges = np.zeros(len(found["edges"]), RATED_DTYPE)
    for field in ("label", "weight"):
        edges[field] = found["edges"][field]
    edges["correction"] = np.array([0x7FFFFFFF], np.int32).view(np.float32)[0]
    return edges


def tower(path):
    """A run of words of a run of words of ..., whose name could only be put together by very deep recursion."""
    n = 200_000
    data = np.frombuffer(b"a", np.uint8)
    starts, lengths = np.arange(-1, n - 1, dtype=np.int64), np.full(n, -1, np.int32)
    starts[0], lengths[0] = 0, 1
    arrays(
        term_starts=lambda _: starts,
        term_lengths=lambda _: lengths,
        term_counts=lambda _: np.ones(n, np.int32),
        term_names=lambda _: data,
        text_counters=lambda _: np.array([n, n, 0], np.int64),
    )(path)


def plenty_of_groups(path):
    """Thresholds for billions of groups, in a file of no bytes."""
    array("bands_thresholds", lambda _: np.zeros((1 << 40, 0)))(path)


INDEX = {
    "an edge to a label beyond the names": array("edges", put(3, 10_000, "label")),
    "an edge to a label below 0": array("edges", put(3, -1, "label")),
    "an edge of no number": array("edges", put(0, NAN, "weight")),
    "an edge of infinite weight": array("edges", put(0, INF, "weight")),
    "edges out of order": array("edges", put(1, 1e9, "weight")),
    "edges that are whole numbers": array("edges", lambda a: a.view(np.int64)),
    "edges in two axes": array("edges", lambda a: a.reshape(1, -1)),
    "edges of the longer form": arrays(edges=rated_for_plain),
    "lists that fall": array("edge_indptr", put(1, -5)),
    "lists beyond the edges": array("edge_indptr", put(1, 1 << 40)),
    "lists of fractions": array("edge_indptr", lambda a: a.astype(np.float64)),
    "no lists": array("edge_indptr", lambda a: a[:0]),
    "a total of no number": array("feature_totals", put(0, NAN)),
    "sightings beyond counting": array("feature_seen", put(0, (1 << 63) - 1)),
    "labels counted below 0": array("label_counts", put(0, -1)),
    "labels counted more often than rows": array("label_counts", put(0, 1 << 40)),
    "labels' counts of fractions": array("label_counts", lambda a: a.astype(np.float64)),
    "rows that were seen in two axes": array("rows_seen", lambda a: a.reshape(1, 1)),
    "rows seen below 0": array("rows_seen", put(0, -7)),
    "a name beyond the names' bytes": array("label_offsets", put(-1, 1 << 40)),
    "names that overlap": array("label_offsets", lambda a: swapped(a[1:]) if len(a) else a),
    "an empty name": labels(b""),
    "a name of no type": labels(b"xyz"),
    "a name that is not UTF-8": labels(b"s\xff"),
    "a name twice": labels(b"s1"),
    "a number of a thousand digits for a name": labels(b"i" + b"9" * 5000),
}
INDEX["edges twice to one label"] = arrays(
    edges=lambda f: np.array([f["edges"][0]] * 2, f["edges"].dtype),
    edge_indptr=lambda f: np.where(np.arange(len(f["edge_indptr"])) > 0, 2, 0),
    feature_totals=lambda f: np.full(len(f["feature_totals"]), 1e6),
)

RATED = {
    "a correction of no number": array("edges", put(0, NAN, "correction")),
    "a sum of squares below 0": array("edges", put(0, -1.0, "slope")),
    "a rating beyond its limits": array("feature_ratings", put(0, 700.0, "log")),
    "an edge to a label beyond the names": array("edges", put(0, 1 << 30, "label")),
    "plain edges": array("edges", lambda a: a[["label", "weight"]].astype([("label", "<i4"), ("weight", "<f4")])),
    "neither index nor pairs": array("rows_learnt", put(1, 0)),
    "rows learnt beyond counting": array("rows_learnt", put(0, (1 << 62))),
}
PROTOTYPES = {
    "a pair's label beyond the names": array("prototype_labels", put(-1, 1 << 30)),
    "a pair's label below 0": array("prototype_labels", put(0, -1)),
    "pairs out of order": array("prototype_labels", lambda a: np.zeros_like(a)),
    "a weight of no number": array("prototype_weights", put(0, NAN)),
    "weights of double precision": array("prototype_weights", lambda a: a.astype(np.float64)),
    "lists beyond the pairs": array("prototype_indptr", put(1, 1 << 40)),
    "lists that fall": array("prototype_indptr", put(1, -1)),
    "no lists": array("prototype_indptr", lambda a: a[:0]),
}
COUNTS = {
    "shares of no number": array("joint_counts", lambda a: np.full(len(a), NAN)),
    "a label twice for a feature": array("joint_labels", lambda a: np.zeros_like(a)),
    "a label beyond the names": array("joint_labels", put(0, 1 << 30)),
    "lists beyond the pairs": array("joint_indptr", put(1, 1 << 40)),
    "seen together more often than at all": array("joint_counts", put(0, 1 << 40)),
    "seen below 0": array("feature_seen", put(0, -1)),
    "a threshold of no number": array("p_ind", put(0, NAN)),
}
ORDINAL = {
    "weights of no number": array("weights", put((0, 0), NAN)),
    "weights for other columns": array("weights", lambda a: a[:-1]),
    "thresholds of no number": array("thresholds", put((0, 0), NAN)),
    "thresholds out of order": array("thresholds", lambda a: a[::-1].copy()),
    "more thresholds than ranks": array("thresholds", lambda a: np.zeros((len(a) + 3, 2))),
    "a span of no number": array("score_span", put(0, NAN)),
    "a rank of no number": arrays(
        rank_values=lambda _: encode_names([1.0, 2.0, 3.0, NAN])[0],
        rank_offsets=lambda _: encode_names([1.0, 2.0, 3.0, NAN])[1],
    ),
    "ranks out of order": arrays(
        rank_values=lambda _: encode_names([3, 2, 1, 0])[0], rank_offsets=lambda _: encode_names([3, 2, 1, 0])[1]
    ),
    "ranks of two kinds": arrays(
        rank_values=lambda _: encode_names([1, 2, 3, "4"])[0], rank_offsets=lambda _: encode_names([1, 2, 3, "4"])[1]
    ),
}
SUPPORT = {
    "a supporting column beyond all": array("support_indices", put(0, 1 << 30)),
    "a supporting column below 0": array("support_indices", put(0, -1)),
    "supporting rows beyond their entries": array("support_indptr", put(1, 1 << 40)),
    "a supporting value of no number": array("support_data", put(0, NAN)),
    "a supporting row of the future": array("support_born", put(0, 1 << 40)),
    "a supporting step beyond all": array("support_steps", put(0, (1 << 63) - 1)),
}
BANDS = {
    "bands for billions of groups": plenty_of_groups,
    "bands' thresholds of no number": array("bands_thresholds", put((0, 0), NAN)),
    "bands' thresholds out of order": array("bands_thresholds", lambda _: np.array([[9.0, -9.0]])),
    "bands' feedback below 0": array("bands_feedback", put(0, -1.0)),
    "bands' groups that are not there": array("bands_group_of", lambda _: np.array([5])),
    "calibration's records below 0": array("ranker_calibration_records", put((0, 0), -3.0)),
    "calibration's units below 0": array("ranker_calibration_units", put(0, -1.0)),
    "calibration's weights of no number": array("ranker_calibration_weights", put(0, INF)),
    "calibration's bend of another size": array("ranker_calibration_bend", lambda a: np.append(a, 1.0)),
}
VOCABULARY = {
    "a term made of later ones": array("term_lengths", put(0, -1 - 5)),
    "a tower of terms": tower,
    "a term's name beyond the names": array("term_starts", put(0, 1 << 40)),
    "a term's name of billions of bytes": array("term_lengths", put(0, (1 << 31) - 1)),
    "terms' names that are not UTF-8": array("term_names", lambda a: np.full_like(a, 0xFF)),
    "a term twice": array("term_names", lambda a: np.full_like(a, ord("a"))),
    "a term seen below 0": array("term_counts", put(0, -1)),
    "a term in more texts than there are": array("term_counts", put(0, 1 << 30)),
    "texts below 0": array("text_counters", put(0, -1)),
    "texts beyond counting": array("text_counters", put(0, (1 << 63) - 1)),
    "no distinct terms": array("text_counters", put(1, 0)),
    "fewer names than named labels": array("display_name_offsets", lambda a: a[:-1]),
    "a display name that is not UTF-8": array("display_names", lambda a: np.full_like(a, 0xFF)),
    "an index of other terms": array("term_counts", lambda a: a[:-1]),
}
SERVED = {
    "an alias of a label that there is not": array("served_target_names", lambda a: np.full_like(a, ord("s"))),
    "retired labels that there are not": array("served_retired_names", lambda a: np.full_like(a, ord("s"))),
    "fewer targets than aliases": (
        arrays(
            served_target_names=lambda _: names_of(b"sfruit")[0], served_target_offsets=lambda _: names_of(b"sfruit")[1]
        )
    ),
}
QUERIES = {
    "weights of no number": array("coef", put(0, NAN)),
    "an infinite constant": array("intercept", put(0, INF)),
    "rounds below 0": array("counts", put(0, -1)),
}
THRESHOLDS = {
    "thresholds beyond their columns": array("threshold_offsets", put(1, 1 << 40)),
    "thresholds out of order in a column": array("thresholds", lambda a: -a),
    "a threshold of no number": array("thresholds", put(0, NAN)),
    "fewer weights than thresholds": array("coef", lambda a: a[:-1]),
    "thresholds of no columns": array("threshold_offsets", lambda a: a[:0]),
}
