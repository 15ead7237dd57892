"""Queues of texts that several people decide together, in a SQLite file of the home.

A text is leased to one holder at a time. A decision is first stored here as pending, then taught through the journal
under a key that is derived from the text, and then marked as taught. After a crash between these steps, the same key
is used again, so that no text is taught twice. Every process of a server uses the file; SQLite orders their changes.
"""

import contextlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from abound.closing import Closing
from abound.errors import JournalUnavailable
from abound.store.journal.clock import wall_time
from abound.store.locks import make_private
from abound.store.names import Name
from abound.texts import Text, joined

QUEUES = "queues.sqlite"
LEASE_SECONDS = 15 * 60
PENDING_SECONDS = 2  # after which another request completes a decision whose process may have ended
MAX_ITEMS = 100_000  # texts of a queue
SECOND = 1_000_000
STATES = ("open", "leased", "review", "done", "skipped", "differs")
SCHEMA = """
CREATE TABLE about (token TEXT NOT NULL);
CREATE TABLE queue (
    name TEXT PRIMARY KEY, guidelines TEXT NOT NULL, reviews INTEGER NOT NULL, created INTEGER NOT NULL
);
CREATE TABLE item (
    id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, text TEXT NOT NULL, given TEXT, source TEXT,
    folded TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, holder TEXT, who TEXT,
    leased_until INTEGER NOT NULL, agreement REAL
);
CREATE INDEX item_by_state ON item (queue, state, id);
CREATE TABLE decision (
    item INTEGER NOT NULL, round INTEGER NOT NULL, attempt INTEGER NOT NULL, holder TEXT NOT NULL, who TEXT,
    source TEXT, time INTEGER NOT NULL, content TEXT NOT NULL, lesson TEXT, agreement REAL,
    pending INTEGER NOT NULL, record INTEGER,
    PRIMARY KEY (item, round)
);
CREATE INDEX decision_by_record ON decision (record);
CREATE TABLE request (key TEXT PRIMARY KEY, answer TEXT NOT NULL);
"""
SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=1", "trusted_schema=0")


class QueueProblem(Exception):  # noqa: N818
    """Why a request is refused: "unknown" if there is no such queue or text, "lost" if it is somebody else's."""

    def __init__(self, kind: Literal["unknown", "lost", "invalid"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Holder(NamedTuple):
    """Who holds a text: a random id of a browser or program, and the person's name if it is known."""

    id: str
    who: str | None = None


class Content(NamedTuple):
    """What a person decided on a text."""

    accepted: tuple[Name, ...] = ()
    rejected: tuple[Name, ...] = ()
    added: tuple[Name, ...] = ()
    skip: bool = False
    none_fits: bool = False

    @property
    def labels(self) -> tuple[Name, ...]:
        """The right labels."""
        return (*self.accepted, *self.added)

    def encode(self) -> str:
        """Return this as JSON."""
        return json.dumps(self._asdict(), sort_keys=True)

    @classmethod
    def decode(cls, raw: str) -> "Content":
        """Return what `encode` wrote."""
        given = json.loads(raw)
        accepted, rejected, added = (tuple(given[name]) for name in ("accepted", "rejected", "added"))
        return cls(accepted, rejected, added, given["skip"], given["none_fits"])


class Lesson(NamedTuple):
    """What a decision teaches, None if nothing, and how far it agrees with the one before, None if there is none."""

    content: Content | None
    agreement: float | None = None


class Decision(NamedTuple):
    """A stored decision; `round` is 0 for the first person and 1 for the reviewer, `record` that of the journal."""

    item: int
    round: int
    attempt: int
    holder: Holder
    source: str | None
    time: int
    content: Content
    lesson: Lesson
    is_pending: bool = True
    record: int | None = None


class Item(NamedTuple):
    """A text of a queue; `state` is one of `STATES`, `until` the end of its lease in microseconds since 1970."""

    id: int
    queue: str
    text: Text
    given: str | None
    source: str | None
    state: str
    attempt: int
    holder: Holder | None
    until: int
    agreement: float | None
    decisions: tuple[Decision, ...] = ()

    @property
    def round(self) -> int:
        """The round of the next decision."""
        return int(any(not one.is_pending and one.round == 0 for one in self.decisions))


class Summary(NamedTuple):
    """A queue, the number of its texts by state, and how far two people agree.

    Attributes
    ----------
    agreed : int
        Texts that two people decided.
    agreement : float
        The mean over these texts of 2|A and B| / (|A| + |B|), where A and B are the labels of the two.
    equal : float
        The share of these texts with the same labels.
    """

    name: str
    guidelines: str
    reviews: int
    created: int
    counts: dict[str, int]
    agreed: int
    agreement: float
    equal: float


class NewText(NamedTuple):
    """A text to add; `given` is the caller's id, `source` where it is from."""

    text: Text
    given: str | None = None
    source: str | None = None


Teaches = Callable[[Item, Content], Lesson]


class Queues(Closing):
    """The queues of a home.

    Parameters
    ----------
    path : path
        The file; it is created when the first queue is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextlib.contextmanager
    def _using(self, *, write: bool = False, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Give a connection, within a transaction."""
        with self._lock, translated(self.path):
            if self._connection is None:
                if not create and not self.path.exists():
                    raise QueueProblem("unknown", "there is no queue; create one first")
                self._connection = _open(self.path)
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    # -- queues --------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        texts: Sequence[NewText],
        guidelines: str | None = None,
        reviews: int | None = None,
        key: str | None = None,
    ) -> tuple[int, int]:
        """Create a queue or append to it; return the number of its texts and how many were added.

        What is None is not changed. A request that is repeated with the same key adds nothing.
        """
        with self._using(write=True, create=True) as db:
            if key is not None:
                known = db.execute("SELECT answer FROM request WHERE key = ?", (f"{name}\n{key}",)).fetchone()
                if known is not None:
                    total, added = json.loads(known[0])
                    return total, added
            db.execute("INSERT OR IGNORE INTO queue VALUES (?, '', 0, ?)", (name, wall_time()))
            if guidelines is not None:
                db.execute("UPDATE queue SET guidelines = ? WHERE name = ?", (guidelines, name))
            if reviews is not None:
                db.execute("UPDATE queue SET reviews = ? WHERE name = ?", (reviews, name))
            n_before = int(db.execute("SELECT count(*) FROM item WHERE queue = ?", (name,)).fetchone()[0])
            if n_before + len(texts) > MAX_ITEMS:
                raise QueueProblem("invalid", f"a queue has at most {MAX_ITEMS:,} texts; use another one")
            db.executemany(
                "INSERT INTO item (queue, text, given, source, folded, state, attempt, leased_until) "
                "VALUES (?, ?, ?, ?, ?, 'open', 0, 0)",
                [(name, json.dumps(one.text), one.given, one.source, _folded(one)) for one in texts],
            )
            answer = (n_before + len(texts), len(texts))
            if key is not None:
                db.execute("INSERT INTO request VALUES (?, ?)", (f"{name}\n{key}", json.dumps(answer)))
            return answer

    def remove(self, name: str) -> int:
        """Remove a queue with its texts and decisions; return the number of texts."""
        with self._using(write=True) as db:
            _check_queue(db, name)
            db.execute("DELETE FROM decision WHERE item IN (SELECT id FROM item WHERE queue = ?)", (name,))
            removed = db.execute("DELETE FROM item WHERE queue = ?", (name,)).rowcount
            db.execute("DELETE FROM request WHERE substr(key, 1, ?) = ?", (len(name) + 1, f"{name}\n"))
            db.execute("DELETE FROM queue WHERE name = ?", (name,))
        self._erase()
        return removed

    def summaries(self, name: str | None = None) -> list[Summary]:
        """Return all queues, or one, with their numbers of texts."""
        if not self.path.exists():
            return []
        with self._using() as db:
            rows = db.execute(
                "SELECT name, guidelines, reviews, created FROM queue WHERE ? IS NULL OR name = ? ORDER BY name",
                (name, name),
            ).fetchall()
            return [_summary(db, row) for row in rows]

    def items(
        self, name: str, state: str | None = None, search: str = "", offset: int = 0, limit: int = 50
    ) -> tuple[int, list[Item]]:
        """Return how many texts of a queue have a state and all words of a search, and some of them in order."""
        where, values = ["queue = ?"], [name]
        if state is not None:
            where.append(_WHERE[state].format(now=wall_time()))
        for word in search.casefold().split():
            where.append("instr(folded, ?) > 0")
            values.append(word)
        condition = " AND ".join(where)
        with self._using() as db:
            _check_queue(db, name)
            counted = f"SELECT count(*) FROM item WHERE {condition}"  # noqa: S608  of constants
            listed = f"{_SELECT} WHERE {condition} ORDER BY id LIMIT ? OFFSET ?"
            total = int(db.execute(counted, values).fetchone()[0])
            rows = db.execute(listed, [*values, limit, offset]).fetchall()
            return total, [_item(db, row) for row in rows]

    # -- leases --------------------------------------------------------------------------------------

    def lease(self, name: str, holder: Holder, after: int = 0) -> Item | None:
        """Lease the next text that needs a decision after an item; from the beginning if there is none after it.

        The reviewer of a text is another person than the first one, or another browser if the persons are not known.
        """
        with self._using(write=True) as db:
            _check_queue(db, name)
            for start in (after, 0) if after else (0,):
                found = db.execute(_NEXT, (name, start, wall_time(), holder.id, holder.id, holder.who)).fetchone()
                if found is not None:
                    return _lease(db, found[0], holder)
            return None

    def lease_item(self, name: str, item: int, holder: Holder) -> Item:
        """Lease a text, or renew its lease; a skipped text may be leased again."""
        with self._using(write=True) as db:
            found = _find(db, name, item)
            if found.holder is not None and found.holder.id != holder.id and found.until >= wall_time():
                raise QueueProblem("lost", f"text {item} is being decided by {_person(found.holder)}")
            if found.state not in ("open", "review", "skipped", "leased") or any(d.is_pending for d in found.decisions):
                raise QueueProblem("lost", f"text {item} is already decided; open it again to change the decision")
            if found.round == 1 and _is_same(found.decisions[0].holder, holder):
                raise QueueProblem("lost", f"text {item} waits for another person's review")
            return _lease(db, item, holder)

    def release(self, name: str, item: int, holder: Holder) -> bool:
        """Give up a lease; return whether the holder had it."""
        with self._using(write=True) as db:
            _check_queue(db, name)
            return bool(
                db.execute(
                    "UPDATE item SET holder = NULL, who = NULL, leased_until = 0 "
                    "WHERE queue = ? AND id = ? AND holder = ?",
                    (name, item, holder.id),
                ).rowcount
            )

    def reopen(self, name: str, item: int, holder: Holder, *, any_holder: bool = False) -> Item:
        """Lease a decided text again, for another decision; only to who decided it, unless `any_holder`.

        All decisions on it are removed here. Their records stay in the journal; undo them separately.
        """
        with self._using(write=True) as db:
            found = _find(db, name, item)
            if any(one.is_pending for one in found.decisions):
                raise QueueProblem("lost", f"a decision on text {item} is being saved; try again")
            if not any_holder and not any(_is_same(one.holder, holder) for one in found.decisions):
                raise QueueProblem("lost", f"text {item} was decided by somebody else, who may open it again")
            db.execute("DELETE FROM decision WHERE item = ?", (item,))
            db.execute("UPDATE item SET state = 'open', attempt = attempt + 1, agreement = NULL WHERE id = ?", (item,))
            return _lease(db, item, holder)

    # -- decisions -----------------------------------------------------------------------------------

    def begin(
        self, name: str, item: int, holder: Holder, content: Content, source: str | None, teaches: Teaches
    ) -> tuple[Item, Decision]:
        """Store a decision as pending, or return the same one if it was stored before.

        `teaches` returns what it teaches; this is stored, so that it is the same after a crash. Raises QueueProblem if
        the lease was lost: the text was given to somebody else meanwhile.
        """
        with self._using(write=True) as db:
            found = _find(db, name, item)
            for known in reversed(found.decisions):
                if known.holder.id == holder.id and known.content == content:
                    return found, known
            if content.skip and found.state == "skipped":  # it was skipped before, and its decision is not kept
                known = Decision(item, 0, found.attempt, holder, source, wall_time(), content, Lesson(None))
                return found, known._replace(is_pending=False)
            if any(one.is_pending for one in found.decisions):
                raise QueueProblem("lost", f"another decision on text {item} is being saved; send that one again")
            if found.holder is None or found.holder.id != holder.id:
                by = "nobody holds it" if found.holder is None else f"{_person(found.holder)} decides it now"
                raise QueueProblem("lost", f"the lease of text {item} was lost, and {by}; ask for the next text")
            lesson = teaches(found, content)
            decision = Decision(item, found.round, found.attempt, holder, source, wall_time(), content, lesson)
            taught = None if lesson.content is None else lesson.content.encode()
            db.execute(
                "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, NULL)",
                (
                    *(item, decision.round, found.attempt, *holder, source, decision.time),
                    *(content.encode(), taught, lesson.agreement),
                ),
            )
            return found, decision

    def finish(self, decision: Decision, record: int | None) -> str:
        """Mark a pending decision as taught, by the record if there is one; return the state of its text."""
        with self._using(write=True) as db:
            pending = db.execute(
                "UPDATE decision SET pending = 0, record = ? WHERE item = ? AND round = ? AND attempt = ? AND pending",
                (record, decision.item, decision.round, decision.attempt),
            ).rowcount
            if pending:
                reviews = "SELECT reviews FROM queue, item WHERE name = queue AND id = ?"
                is_first = decision.round == 0 and not decision.content.skip
                is_reviewed = is_first and db.execute(reviews, (decision.item,)).fetchone()[0]
                skipped = decision.content.skip and decision.round == 0
                state = "review" if is_reviewed else "skipped" if skipped else "done"
                db.execute(
                    "UPDATE item SET state = ?, agreement = ?, holder = NULL, who = NULL, leased_until = 0 "
                    "WHERE id = ?",
                    (state, decision.lesson.agreement, decision.item),
                )
                if skipped:  # it may be decided later
                    db.execute("DELETE FROM decision WHERE item = ?", (decision.item,))
                    db.execute("UPDATE item SET attempt = attempt + 1 WHERE id = ?", (decision.item,))
            found = db.execute("SELECT state FROM item WHERE id = ?", (decision.item,)).fetchone()
            return "done" if found is None else str(found[0])

    def withdraw(self, decision: Decision) -> None:
        """Remove a pending decision that was refused; the holder keeps the text."""
        with self._using(write=True) as db:
            db.execute(
                "DELETE FROM decision WHERE item = ? AND round = ? AND attempt = ? AND pending",
                (decision.item, decision.round, decision.attempt),
            )

    def pending(self) -> list[tuple[Item, Decision]]:
        """Return decisions that were stored a while ago and are not marked as taught: their process may have ended."""
        if not self.path.exists():
            return []
        with self._using() as db:
            limit = wall_time() - PENDING_SECONDS * SECOND
            rows = db.execute("SELECT item FROM decision WHERE pending AND time < ? LIMIT 100", (limit,)).fetchall()
            items = [_get(db, row[0]) for row in rows]
            return [(item, one) for item in items for one in item.decisions if one.is_pending]

    def key_of(self, decision: Decision) -> str:
        """Return the idempotency key under which a decision is taught."""
        with self._using() as db:
            token = db.execute("SELECT token FROM about").fetchone()[0]
        return f"queue-{token}-{decision.item}-{decision.round}-{decision.attempt}"

    # -- forgetting ----------------------------------------------------------------------------------

    def forget_records(self, records: Iterable[int]) -> int:
        """Remove the texts that were taught by records which are forgotten; return how many."""
        return self._forget("SELECT item FROM decision WHERE record = ?", [(record,) for record in records])

    def forget_matching(self, who: str | None = None, text: str | None = None, *, dry_run: bool = False) -> int:
        """Remove the texts that contain a string and that a person decided or holds; return how many.

        None matches every text. With `dry_run`, they are only counted.
        """
        if who is None and text is None:
            raise ValueError("give who or text: which texts to forget")
        asked = {"who": who, "text": None if text is None else text.casefold()}
        return self._forget(_MATCHING, [asked], dry_run=dry_run)

    def _forget(self, query: str, values: Iterable[Any], *, dry_run: bool = False) -> int:
        if not self.path.exists():
            return 0
        with self._using(write=not dry_run) as db:
            ids = {(row[0],) for one in values for row in db.execute(query, one)}
            if dry_run:
                return len(ids)
            db.executemany("DELETE FROM decision WHERE item = ?", ids)
            db.executemany("DELETE FROM item WHERE id = ?", ids)
        self._erase()  # also if nothing was found: a process may have ended before this
        return len(ids)

    def reopen_after(self, last: int) -> int:
        """Open the texts again whose records are not in a restored journal; return how many."""
        if not self.path.exists():
            return 0
        with self._using(write=True) as db:
            ids = db.execute("SELECT DISTINCT item FROM decision WHERE record > ? OR pending", (last,)).fetchall()
            db.executemany("DELETE FROM decision WHERE item = ?", ids)
            db.executemany("UPDATE item SET state = 'open', attempt = attempt + 1, agreement = NULL WHERE id = ?", ids)
            db.execute("UPDATE item SET holder = NULL, who = NULL, leased_until = 0")
            return len(ids)

    def _erase(self) -> None:
        """Remove deleted content from the write-ahead log, too."""
        with self._lock, translated(self.path):
            assert self._connection is not None
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


_SELECT = "SELECT id, queue, text, given, source, state, attempt, holder, who, leased_until, agreement FROM item"
_WHERE = {
    "open": "state = 'open' AND leased_until < {now}",
    "leased": "state != 'done' AND leased_until >= {now}",
    "review": "state = 'review' AND leased_until < {now}",
    "done": "state = 'done'",
    "skipped": "state = 'skipped' AND leased_until < {now}",
    "differs": "state = 'done' AND agreement < 1",
}
_MATCHING = """
SELECT id FROM item
WHERE (:text IS NULL OR instr(folded, :text) > 0)
    AND (:who IS NULL OR who = :who OR id IN (SELECT item FROM decision WHERE who = :who))
"""
_NEXT = """
SELECT id FROM item
WHERE queue = ?1 AND state IN ('open', 'review') AND id > ?2 AND (leased_until < ?3 OR holder = ?4)
    AND NOT EXISTS (SELECT 1 FROM decision d WHERE d.item = item.id AND d.pending)
    AND (state = 'open' OR NOT EXISTS (
        SELECT 1 FROM decision d WHERE d.item = item.id AND (d.holder = ?5 OR d.who = ?6)
    ))
ORDER BY state, id LIMIT 1
"""


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into those of abound."""
    try:
        yield
    except sqlite3.Error as error:
        raise JournalUnavailable(f"{path} cannot be used: {error}") from None


def _open(path: Path) -> sqlite3.Connection:
    make_private(path)
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        for setting in SETTINGS:
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO about VALUES (?)", (secrets.token_hex(8),))
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _folded(one: NewText) -> str:
    return " ".join(filter(None, (joined(one.text), one.given, one.source))).casefold()


def _check_queue(db: sqlite3.Connection, name: str) -> None:
    if db.execute("SELECT 1 FROM queue WHERE name = ?", (name,)).fetchone() is None:
        raise QueueProblem("unknown", f"there is no queue {name!r}")


def _find(db: sqlite3.Connection, name: str, number: int) -> Item:
    _check_queue(db, name)
    row = db.execute(f"{_SELECT} WHERE queue = ? AND id = ?", (name, number)).fetchone()
    if row is None:
        raise QueueProblem("unknown", f"queue {name!r} has no text {number}")
    return _item(db, row)


def _get(db: sqlite3.Connection, number: int) -> Item:
    return _item(db, db.execute(f"{_SELECT} WHERE id = ?", (number,)).fetchone())


def _item(db: sqlite3.Connection, row: Sequence[Any]) -> Item:
    number, queue, text, given, source, state, attempt, holder, who, until, agreement = row
    stored = db.execute("SELECT * FROM decision WHERE item = ? ORDER BY round", (number,)).fetchall()
    decisions = tuple(map(_decision, stored))
    shown = "leased" if state != "done" and until >= wall_time() else state
    held = None if holder is None else Holder(holder, who)
    return Item(number, queue, json.loads(text), given, source, shown, attempt, held, until, agreement, decisions)


def _decision(row: Sequence[Any]) -> Decision:
    item, round_, attempt, holder, who, source, time, content, lesson, agreement, pending, record = row
    taught = Lesson(None if lesson is None else Content.decode(lesson), agreement)
    by, given = Holder(holder, who), Content.decode(content)
    return Decision(item, round_, attempt, by, source, time, given, taught, bool(pending), record)


def _lease(db: sqlite3.Connection, number: int, holder: Holder) -> Item:
    until = wall_time() + LEASE_SECONDS * SECOND
    db.execute("UPDATE item SET holder = ?, who = ?, leased_until = ? WHERE id = ?", (*holder, until, number))
    return _get(db, number)


def _is_same(one: Holder, other: Holder) -> bool:
    return one.id == other.id or (one.who is not None and one.who == other.who)


def _person(holder: Holder) -> str:
    return holder.who or "somebody else"


def _summary(db: sqlite3.Connection, row: tuple[str, str, int, int]) -> Summary:
    now = wall_time()
    columns = ", ".join(f"total({_WHERE[state].format(now=now)})" for state in STATES)
    agreed = "count(agreement), coalesce(avg(agreement), 0), coalesce(avg(agreement = 1), 0)"
    query = f"SELECT count(*), {columns}, {agreed} FROM item WHERE queue = ?"  # noqa: S608  of constants
    total, *counts, n_agreed, mean, equal = db.execute(query, (row[0],)).fetchone()
    by_state = {"total": total, **{state: int(count) for state, count in zip(STATES, counts, strict=True)}}
    return Summary(*row, by_state, n_agreed, mean, equal)


def agreement_of(first: Iterable[Name], second: Iterable[Name]) -> float:
    """Return how far two sets of labels agree: 2|A and B| / (|A| + |B|), 1 if both are empty.

    Examples
    --------
    >>> agreement_of(["roses", "gardening"], ["roses"])
    0.6666666666666666
    """
    a, b = set(first), set(second)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0
