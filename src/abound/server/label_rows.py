"""The table of all labels, and the completion of a label's name by the scores of a text."""

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.server.history import Offers
from abound.server.merged import rank_rows
from abound.server.progress import wilson
from abound.server.replica import Replica
from abound.server.search import LabelMatch, Order
from abound.store.names import Name

Sort: TypeAlias = Literal["frequent", "name", "worst", "best", "rejected", "recent"]
SORTS: tuple[str, ...] = get_args(Sort)
RANKED = 1000  # labels of a text that are ranked with the second stage; the others come by their votes alone


class LabelRow(NamedTuple):
    """A label that was found.

    Attributes
    ----------
    match : LabelMatch
    offers : Offers or None
        How often it was offered and refused in the last corrections; None if it was not offered.
    changed : int
        When it was last corrected, in microseconds since 1970; 0 if that is not known.
    score : float or None
        Of the text, if it has a vote.
    """

    match: LabelMatch
    offers: Offers | None = None
    changed: int = 0
    score: float | None = None


def find_labels(replica: Replica, query: str, sort: Sort, offset: int, limit: int) -> tuple[int, list[LabelRow]]:
    """Return how many labels match a query, and some of them in the asked order."""
    with replica.reading() as sequence:
        history, table = replica.history, replica.labels
        offers = history.offers(sequence, table.resolve)
        total, matches = replica.search.find(query, limit, offset=offset, order=_order(replica, sort))
        return total, [
            LabelRow(match, offers.get(match.label), history.changed([match.label, *table.aliases_of(match.label)]))
            for match in matches
        ]


def _order(replica: Replica, sort: Sort) -> Order | None:
    search, labels = replica.search, replica.labels
    if sort == "frequent":
        return None
    if sort == "name":
        return search.by_name()
    if sort in ("worst", "best"):
        return search.by_quality(best_first=sort == "best")
    order = np.full(len(labels.book), np.inf)
    if sort == "rejected":  # by what is certain: one text of one is less than 30 of 40
        for label, (offered, refused) in replica.history.offers(replica.sequence, labels.resolve).items():
            if label in labels.book:
                order[labels.book.id_of(label)] = -wilson(refused, offered).low
        return order
    for place, name in enumerate(replica.history.recent()):
        label = labels.resolve(name)
        if label in labels.book:
            number = labels.book.id_of(label)
            order[number] = min(order[number], place)
    return order


def complete(replica: Replica, rows: Rows, query: str, limit: int) -> tuple[int, list[LabelRow]]:
    """Return the labels that match a query by the scores of a text, then by their frequency.

    Parameters
    ----------
    replica : Replica
    rows : Rows
        The text as one row of the replica's current state.
    query, limit
        As for `LabelSearch.find`.
    """
    with replica.reading():
        scores, order = _scores(replica, rows)
        total, matches = replica.search.find(query, limit, order=order)
        found = []
        for match in matches:
            score = float(scores[replica.labels.book.id_of(match.label)])
            found.append(LabelRow(match, score=None if np.isnan(score) else score))
        return total, found


def _scores(replica: Replica, rows: Rows) -> tuple[NDArray[np.float64], Order]:
    """Return the scores of a row's labels by number, NaN without a vote, and their order.

    The ranked labels come first, then the others with votes.
    """
    tagger, labels = replica.tagger, replica.labels
    number_of = labels.book.id_of
    scores = tagger.score_rows(rows, np.arange(len(labels.book), dtype=np.int32))[0]
    for label, members in labels.groups.items():  # a merged label has at least the votes of its best part
        scores[number_of(label)] = np.fmax.reduce(scores[[number_of(member) for member in members]])
    order = np.full(len(scores), np.inf)
    voted = np.flatnonzero(~np.isnan(scores))
    order[voted[np.argsort(-scores[voted], kind="stable")]] = np.arange(RANKED, RANKED + len(voted))
    for place, entry in enumerate(rank_rows(tagger, labels, rows, RANKED)[0]):
        number = number_of(entry.label)
        scores[number], order[number] = entry.score, place
    return scores, order


def shown_by_another(replica: Replica, label: Name, name: str) -> Name | None:
    """Return another label that is shown under a name, upper and lower case being the same, or None."""
    with replica.reading():
        labels, names = replica.labels, replica.names
        own = labels.resolve(label)
        if name in labels.book and labels.resolve(name) == name != own and name not in labels.retired:
            return name
        for other in names.find(name):
            shown = (names.shown(other) or [str(other)])[0]
            if other != own and other not in labels.retired and shown.strip().casefold() == name.strip().casefold():
                return other
        return None
