"""The journal: all acknowledged records, in order, in one SQLite file and an archive of older ones."""

from abound.store.journal.journal import KEY_LIFE, Journal
from abound.store.journal.reading import Lineage
from abound.store.journal.rows import Entry, Origin, Receipt, Skip, StoredRecord

__all__ = ["KEY_LIFE", "Entry", "Journal", "Lineage", "Origin", "Receipt", "Skip", "StoredRecord"]
