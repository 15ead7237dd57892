"""Rank texts for the interfaces of other programs: labels with a score between 0 and 1."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from abound.server.http.limits import check_text
from abound.server.http.service import Service
from abound.server.queries import TextRow
from abound.store.names import Name
from abound.tagger import Entry
from abound.texts import Text


class Suggestion(NamedTuple):
    """A label, its name for people, and its probability."""

    label: Name
    name: str
    score: float


async def suggest(service: Service, texts: Sequence[Text], k: int, threshold: float = 0.0) -> list[list[Suggestion]]:
    """Rank the labels of texts; other requests are answered between them."""
    for text in texts:
        check_text(text)
    found = []
    async with service.batches():
        for text in texts:
            row = TextRow(service.replica, text)
            await asyncio.sleep(0)
            with service.replica.reading():
                names = service.replica.tagger.label_names
                likely = [(entry, likelihood(entry)) for entry in row.rank(k)] if k else []
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


def _name(label: Name, names: dict[str, list[str]]) -> str:
    known = names.get(str(label))
    return known[0] if known else str(label)
