"""Rank texts for the interfaces of other programs: labels with a score between 0 and 1."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from abound.server.http.limits import check_ranked, check_text
from abound.server.http.service import Service
from abound.server.queries import TextRow
from abound.store.names import Name
from abound.tagger import Entry
from abound.texts import Text, joined


class Suggestion(NamedTuple):
    """A label, its name for people, and its probability."""

    label: Name
    name: str
    score: float


async def suggest(service: Service, texts: Sequence[Text], k: int, threshold: float = 0.0) -> list[list[Suggestion]]:
    """Rank the labels of texts; other requests are answered between them."""
    check_ranked(len(texts), k)
    for text in texts:
        check_text(text)
    found = []
    async with service.batches():
        heard = {} if service.opinions is None else await service.opinions.hear(service.replica, texts)
        for text in texts:
            known = {key: heard[key] for key in [joined(text)] if key in heard}
            await service.encode([text])
            with service.replica.hearing(known):
                row = TextRow(service.replica, text)
            await asyncio.sleep(0)
            with service.replica.hearing(known):
                names = service.replica.tagger.label_names
                ranked = row.rank(k) if k else []
                likely = zip(ranked, descending([likelihood(entry) for entry in ranked]), strict=True)
                found.append(
                    [Suggestion(one.label, _name(one.label, names), p) for one, p in likely if p > 0 and p >= threshold]
                )
    return found


def likelihood(entry: Entry) -> float:
    """Return the probability of a label.

    A model that has learned too few texts for probabilities gives x / (1 + x) for a score x, which keeps the order.
    """
    if entry.probability is not None:
        return entry.probability
    score = max(entry.score, 0.0)
    return score / (1 + score)


def descending(scores: Sequence[float]) -> list[float]:
    """Return scores that do not increase: neighbours in the wrong order get their mean.

    Other programs sort by score. Probabilities depend on more than the rank, so they may not be in the order of the
    ranking.

    Examples
    --------
    >>> descending([0.2, 0.4, 0.1])
    [0.30000000000000004, 0.30000000000000004, 0.1]
    """
    pools: list[tuple[float, int]] = []  # sum and number
    for score in scores:
        pool = (score, 1)
        while pools and pools[-1][0] * pool[1] < pool[0] * pools[-1][1]:
            last = pools.pop()
            pool = (last[0] + pool[0], last[1] + pool[1])
        pools.append(pool)
    return [total / count for total, count in pools for _ in range(count)]


def _name(label: Name, names: dict[str, list[str]]) -> str:
    known = names.get(str(label))
    return known[0] if known else str(label)
