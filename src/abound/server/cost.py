"""What it costs to apply a record, told before it is written, and by counts alone.

A record that is in the journal is applied by every replica at every replay, so one that takes too long or too much
memory must never get there. Clocks and free memory would refuse on one machine what another one took; terms and labels
are the same everywhere. A unit is about a microsecond of a small machine.
"""

from abound.errors import RecordTooLarge
from abound.server.labels import LabelTable
from abound.store.journal.records import AddLabel, Learn, Record
from abound.tagger import Tagger

MAX_COST = 150_000  # of a record: it holds the replica's lock for less than 250 ms
LABEL_OVERHEAD = 40  # terms that a label costs as much as, however short the text
TEXT_OVERHEAD = 2  # labels that a text costs as much as, however few it has
CHARACTERS_PER_TERM = 3  # about, where pairs of words are terms
RECORD_OVERHEAD = 500  # to read, check and note a record


def cost_of(record: Record, tagger: Tagger, labels: LabelTable) -> int:
    """Return what a record costs at the most; one that is surely cheap is not looked at word by word."""
    if isinstance(record, Learn):
        right = len({*record.accepted, *record.added})
        wrong = sum(len(labels.members(label)) for label in labels.resolve_all(record.rejected))
        return RECORD_OVERHEAD + _cost(_terms(tagger, [record.text], right + wrong), right + wrong)
    if isinstance(record, AddLabel):
        return RECORD_OVERHEAD + _cost(_terms(tagger, record.names, 1) + LABEL_OVERHEAD * len(record.names), 1)
    return RECORD_OVERHEAD


def replay_cost(record: Record) -> int:
    """Return about what a record costs at a replay, without a look at its words."""
    if isinstance(record, Learn):
        labels = len(record.accepted) + len(record.added) + len(record.rejected)
        return RECORD_OVERHEAD + _cost(len(record.text) // CHARACTERS_PER_TERM, labels)
    return RECORD_OVERHEAD


def check_cost(record: Record, tagger: Tagger, labels: LabelTable) -> None:
    """Raise RecordTooLarge if a record costs more than one may."""
    cost = cost_of(record, tagger, labels)
    if cost <= MAX_COST + RECORD_OVERHEAD:
        return
    share = f"{cost / MAX_COST:,.1f} times as much as a record may"
    if isinstance(record, AddLabel):
        raise RecordTooLarge(f"the names of label {record.label!r} take {share}; give fewer or shorter names")
    raise RecordTooLarge(f"this text with so many labels takes {share}; give fewer labels or a shorter text")


def _cost(terms: int, labels: int) -> int:
    return (terms + LABEL_OVERHEAD) * (labels + TEXT_OVERHEAD)


def _terms(tagger: Tagger, texts: "tuple[str, ...] | list[str]", labels: int) -> int:
    encoder = tagger.encoder
    rough = sum(map(encoder.most_terms, texts))
    if _cost(rough, labels) <= MAX_COST // 20:
        return rough
    return sum(map(encoder.count_terms, texts))
