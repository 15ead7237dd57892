"""Ranks of the labels of a text before and after it is learned."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

DEPTH = 100  # ranks in which a learned label is looked up


class Ranked(Protocol):
    """A label with its rank, from a tagger or a server."""

    @property
    def label(self) -> Any:
        """The label."""

    @property
    def rank(self) -> int:
        """Its rank, from 1."""


def ranks_of(entries: Iterable[Ranked]) -> dict[str, int]:
    """Return the rank of each label of a ranking."""
    return {str(entry.label): entry.rank for entry in entries}


def compare(labels: Iterable[str], before: Mapping[str, int], after: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return each label with its rank before and after; None if it is not among the first `DEPTH`."""
    return [{"label": label, "rank_before": before.get(label), "rank_after": after.get(label)} for label in labels]
