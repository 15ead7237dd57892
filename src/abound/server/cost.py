"""Estimate the cost of applying a record before it is written, from counts alone.

Every replica applies each record of the journal at every replay, so a record that takes too long or too much memory
must not be written. Time and free memory differ between machines; the numbers of terms and labels do not. One unit is
about a microsecond on a small machine.
"""

from collections.abc import Sequence

from abound.errors import RecordTooLarge
from abound.server.labels import LabelTable
from abound.store.journal.records import AddLabel, BandFeedback, EditLabels, Learn, NameLabel, Record
from abound.tagger import Tagger
from abound.texts import Text, n_characters

MAX_COST = 150_000  # of a record: it holds the replica's lock for less than 250 ms
MAX_EDITS_COST = 20_000_000  # of several label edits: a few seconds, because their names are learned together
LABEL_OVERHEAD = 40  # fixed cost of a label, in terms
TEXT_OVERHEAD = 2  # fixed cost of a text, in labels
CHARACTERS_PER_TERM = 3  # approximately, if pairs of words are terms
RECORD_OVERHEAD = 500  # to read, validate and note a record
EDIT_OVERHEAD = 30  # of one of several label edits


def cost_of(record: Record, tagger: Tagger, labels: LabelTable) -> int:
    """Return an upper bound of a record's cost; the words of a surely cheap record are not counted."""
    if isinstance(record, Learn):
        right = len({*record.accepted, *record.added})
        wrong = sum(len(labels.members(label)) for label in labels.resolve_all(record.rejected))
        return RECORD_OVERHEAD + _cost(_terms(tagger, [record.text], right + wrong), right + wrong)
    if isinstance(record, BandFeedback) and record.text is not None:
        return RECORD_OVERHEAD + _cost(_terms(tagger, [record.text], 1), 1)
    if isinstance(record, AddLabel | NameLabel):
        return RECORD_OVERHEAD + _cost(_terms(tagger, record.names, 1) + LABEL_OVERHEAD * len(record.names), 1)
    if isinstance(record, EditLabels):
        return sum(cost_of(edit, tagger, labels) - RECORD_OVERHEAD + EDIT_OVERHEAD for edit in record.edits)
    return RECORD_OVERHEAD


def replay_cost(record: Record) -> int:
    """Return the approximate cost of a record at a replay, without counting its words."""
    if isinstance(record, Learn):
        labels = len(record.accepted) + len(record.added) + len(record.rejected)
        return RECORD_OVERHEAD + _cost(n_characters(record.text) // CHARACTERS_PER_TERM, labels)
    if isinstance(record, BandFeedback) and record.text is not None:
        return RECORD_OVERHEAD + _cost(n_characters(record.text) // CHARACTERS_PER_TERM, 1)
    if isinstance(record, EditLabels):
        return RECORD_OVERHEAD + sum(
            EDIT_OVERHEAD + sum(_cost(len(name) // CHARACTERS_PER_TERM, 1) for name in getattr(edit, "names", ()))
            for edit in record.edits
        )
    return RECORD_OVERHEAD


def check_cost(record: Record, tagger: Tagger, labels: LabelTable) -> None:
    """Raise RecordTooLarge if a record costs more than `MAX_COST`."""
    cost = cost_of(record, tagger, labels)
    limit = MAX_EDITS_COST if isinstance(record, EditLabels) else MAX_COST
    if cost <= limit + RECORD_OVERHEAD:
        return
    excess = f"{cost / limit:,.1f} times the limit of a record"
    if isinstance(record, EditLabels):
        raise RecordTooLarge(
            f"these {len(record.edits):,} label edits cost {excess}; send fewer edits or shorter names"
        )
    if isinstance(record, AddLabel | NameLabel):
        raise RecordTooLarge(f"the names of label {record.label!r} cost {excess}; send fewer or shorter names")
    raise RecordTooLarge(f"this text with so many labels costs {excess}; send fewer labels or a shorter text")


def _cost(terms: int, labels: int) -> int:
    return (terms + LABEL_OVERHEAD) * (labels + TEXT_OVERHEAD)


def _terms(tagger: Tagger, texts: Sequence[Text], labels: int) -> int:
    encoder = tagger.encoder
    rough = sum(map(encoder.term_count_bound, texts))
    if _cost(rough, labels) <= MAX_COST // 20:
        return rough
    return sum(map(encoder.count_terms, texts))
