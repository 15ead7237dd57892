"""Run abound with a defect, to see that the checks notice it.

    python -m tests.several.broken unwritten serve ...

`unwritten` acknowledges some records and rolls their transaction back. `unanswered` commits some records and reports
that the database was lost, which is right and must not be noticed. `forgetful` does the same, and knows no idempotency
keys. `stale` does not wait for the sequence that a client asks for.
"""

import contextlib
import random
import sys

from abound.errors import JournalUnavailable
from abound.server.http.service import Service
from abound.store.journal import Journal
from abound.store.journal.database import Database
from abound.store.journal.postgres import PostgresJournal

SHARE = 0.15  # of groups of records

chance = random.Random()


def replace(owner, name, make):
    """Replace a method by what is made of it."""
    setattr(owner, name, make(getattr(owner, name)))


def unwritten():
    def make(_):
        @contextlib.contextmanager
        def transaction(self):
            with (
                self.connection().pipeline() as pipeline,
                self.connection().transaction(force_rollback=chance.random() < SHARE),
            ):
                yield pipeline

        return transaction

    replace(Database, "transaction", make)


def unanswered():
    def make(append):
        def lossy(self, *arguments, **options):
            appended = append(self, *arguments, **options)
            if chance.random() < SHARE:
                raise JournalUnavailable("the answer of the database was lost")
            return appended

        return lossy

    replace(PostgresJournal, "append_group", make)


def forgetful():
    unanswered()
    for owner, name in ((Journal, "find"), (PostgresJournal, "find"), (PostgresJournal, "_known")):
        replace(owner, name, lambda _: lambda *_: None)


def stale():
    def make(_):
        async def reach(self, sequence):
            return

        return reach

    replace(Service, "reach", make)


DEFECTS = {one.__name__: one for one in (unwritten, unanswered, forgetful, stale)}


def main():
    from abound.cli import main as abound

    DEFECTS[sys.argv.pop(1)]()
    abound()


if __name__ == "__main__":
    main()
