"""The journal: all acknowledged records, in order, in one SQLite file."""

from abound.store.journal.journal import KEY_LIFE, Journal
from abound.store.journal.rows import Receipt, Skip, StoredRecord

__all__ = ["KEY_LIFE", "Journal", "Receipt", "Skip", "StoredRecord"]
