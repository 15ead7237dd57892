"""The scores that a service gives to labels of a text: by label in records and requests, by number in a tagger."""

from collections.abc import Mapping
from typing import TypeAlias

from abound.server.labels import LabelTable
from abound.store.names import Name

Scores: TypeAlias = Mapping[Name, float]
Heard: TypeAlias = Mapping[str, Scores]  # by text; fields of a text are joined

MOST = 100.0  # a score beyond it is clipped, because it would count for ever


def by_number(labels: LabelTable, scores: Scores) -> dict[int, float]:
    """Return scores by the numbers of labels as they are now.

    All parts of a merged label have its score. If several of the labels were merged since, the best score counts.
    """
    found: dict[int, float] = {}
    for given, score in scores.items():
        for label in labels.members(labels.resolve(given)):
            if label in labels.book:
                number = labels.book.id_of(label)
                used = max(-MOST, min(MOST, score))
                found[number] = max(used, found.get(number, used))
    return found
