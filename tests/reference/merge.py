"""The merge of shards in plain Python: one feature of an index, or one (feature, label) pair, at a time.

It imports nothing of the package. Sums are doubles in the order of the shards, what is kept of them are singles.
"""

from typing import NamedTuple

from tests.reference.feature_focus import SMALLEST, single
from tests.reference.rated import INITIAL_CORRECTION


class Learnt(NamedTuple):
    """A number that AdaGrad has moved, and its sum of squared gradients."""

    value: float
    slope: float


class Edge(NamedTuple):
    weight: float
    correction: Learnt = Learnt(0.0, 0.0)


class Feature(NamedTuple):
    total: float
    seen: int
    rating: Learnt
    edges: dict[int, Edge]


NOTHING = Learnt(0.0, 0.0)
NEW = Edge(0.0, Learnt(INITIAL_CORRECTION, 0.0))  # an edge has this correction before it learns


def merge_learnt(base: Learnt, shards: list[Learnt]) -> Learnt:
    """Average over shards that know the number, weighted by how much each one's sum of squares has grown."""
    growths = [max(0.0, shard.slope - base.slope) for shard in shards]
    grown = moved = 0.0
    slope = base.slope
    for shard, growth in zip(shards, growths, strict=True):
        if growth > 0.0:
            moved += growth * shard.value
            grown += growth
            slope += growth
    changed = [shard.value for shard in shards if shard.value != base.value]
    if grown > 0.0:
        return Learnt(single(moved / grown), single(slope))
    return Learnt(single(sum(changed) / len(changed)) if changed else base.value, single(slope))


def merge_feature(base: Feature | None, shards: list[Feature], *, w_min, horizon, leak) -> Feature:
    """Merge one feature of the shards; `shards` has those that know it, and None for the others."""
    others, known = len(shards) - 1, [shard for shard in shards if shard is not None]
    start = base or Feature(0.0, 0, NOTHING, {})
    total, seen = -others * start.total, -others * start.seen
    for shard in known:
        total, seen = total + shard.total, seen + shard.seen
    rating = merge_learnt(start.rating, [shard.rating for shard in known])
    edges = {}
    for label in {label for feature in (start, *known) for label in feature.edges}:
        before = start.edges.get(label, NEW)
        having = [shard.edges[label] for shard in known if label in shard.edges]
        weight = -others * before.weight  # a shard without the edge contributes minus the base's weight
        for edge in having:
            weight += edge.weight
        if single(weight) >= SMALLEST:
            correction = merge_learnt(before.correction, [edge.correction for edge in having])
            edges[label] = Edge(single(weight), correction)
    return pruned(Feature(max(0.0, total), max(0, seen), rating, edges), w_min=w_min, horizon=horizon, leak=leak)


def in_order(edges: dict[int, Edge]) -> dict[int, Edge]:
    """Sort edges by weight, the heaviest first; of equal weights the smaller label first."""
    return dict(sorted(edges.items(), key=lambda item: (-item[1].weight, item[0])))


def pruned(feature: Feature, *, w_min, horizon, leak) -> Feature:
    """Drop the lightest edges and halve, as the feature streaming update does."""
    total, edges = feature.total, in_order(feature.edges)
    if edges and total <= 0.0:
        total = next(iter(edges.values())).weight
    while edges and next(reversed(edges.values())).weight / total < w_min:
        _, dropped = edges.popitem()
        if not leak:
            total -= dropped.weight
    while total > horizon:
        total /= 2
        edges = {c: e._replace(weight=e.weight / 2) for c, e in edges.items() if e.weight / 2 >= SMALLEST}
    return feature._replace(total=total, edges=edges)
