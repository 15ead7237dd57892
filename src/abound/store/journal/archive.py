"""The archive of a journal: the records that compaction moved out of the SQLite file, in compressed segments.

A segment is `<first>-<last>-<hash>.jsonl.gz`, where the hash is that of the file. Its first line describes it, and each
further line is a row of the journal. The rows continue the chain of checksums, so that an archive whose segments were
exchanged, changed or removed is noticed. Segments are never changed; forgetting writes a new one and removes the old.
"""

import gzip
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from abound.errors import DamagedJournal
from abound.store.directory import sync_directory
from abound.store.journal.rows import Row

FORMAT, VERSION = "abound journal archive", 1
SEGMENT_NAME = re.compile(r"(\d{20})-(\d{20})-([0-9a-f]{32})\.jsonl\.gz")
MAX_SEGMENT_BYTES = 1 << 32  # unpacked
PRIVATE_DIRECTORY = 0o700


class Segment(NamedTuple):
    """A file of the archive: its first and last record."""

    first: int
    last: int
    path: Path


class Archive:
    """The segments of a journal.

    Parameters
    ----------
    path : Path
        The directory; it need not exist.
    journal : str
        The id of the journal.
    """

    def __init__(self, path: Path, journal: str) -> None:
        self.path = path
        self._journal = journal

    def segments(self, base: int) -> list[Segment]:
        """Return the segments up to a record in order; later ones are leftovers of an interrupted compaction."""
        found = []
        for path in self.path.iterdir() if self.path.is_dir() else ():
            match = SEGMENT_NAME.fullmatch(path.name)
            if match is not None and int(match[2]) <= base:
                found.append(Segment(int(match[1]), int(match[2]), path))
        return sorted(found)

    def chain(self, start: int, base: int) -> list[Segment]:
        """Return the segments that hold the records after `start` up to `base`; raise DamagedJournal if one is missing.

        Of two segments with the same records, of which an interrupted `forget` left one, the forgotten one is meant.
        """
        chain: list[Segment] = []
        at = start
        for segment in self.segments(base):
            if segment.first == at + 1:
                chain.append(segment)
                at = segment.last
        if at != base:
            raise DamagedJournal(f"{self.path} has lost the archived records {at + 1} to {base}")
        return chain

    def read(self, segment: Segment) -> tuple[bytes, list[Row]]:
        """Return the checksum before a segment's first row, and its rows, not yet verified."""
        try:
            raw = segment.path.read_bytes()
            match = SEGMENT_NAME.fullmatch(segment.path.name)
            if match is None or _hash(raw) != match[3]:
                raise ValueError("it does not match its checksum")
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
                lines = file.read(MAX_SEGMENT_BYTES).split(b"\n")
            head = json.loads(lines[0])
            if (head["format"], head["journal"]) != (FORMAT, self._journal) or head["version"] != VERSION:
                raise ValueError(
                    f"it is not of journal {self._journal!r}, in version {VERSION} of the archive's format"
                )
            rows = [_row(line) for line in lines[1:] if line]
            if [row.sequence for row in rows] != list(range(segment.first, segment.last + 1)):
                raise ValueError("its records are not those of its name")
            return bytes.fromhex(head["previous"]), rows
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise DamagedJournal(f"the archive {segment.path} cannot be read: {error}") from None

    def write(self, previous: bytes, rows: Iterable[Row]) -> Segment:
        """Write a segment; it is on disk when this returns."""
        kept = list(rows)
        first, last = kept[0].sequence, kept[-1].sequence
        head = {"format": FORMAT, "version": VERSION, "journal": self._journal, "previous": previous.hex()}
        lines = [json.dumps(head).encode(), *map(_line, kept)]
        raw = gzip.compress(b"\n".join(lines) + b"\n", mtime=0)
        self.path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        self.remove_unfinished()
        path = self.path / f"{first:020d}-{last:020d}-{_hash(raw)}.jsonl.gz"
        writing = self.path / f".writing-{path.name}"
        descriptor = os.open(writing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        with open(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(writing, path)
        sync_directory(self.path)
        sync_directory(self.path.parent)
        return Segment(first, last, path)

    def rewrite(self, segment: Segment, change: Callable[[Row], Row]) -> bool:
        """Replace the rows of a segment, and remove the old file; return whether a row was changed."""
        previous, rows = self.read(segment)
        changed = [change(row) for row in rows]
        if changed == rows:
            return False
        self.write(previous, changed)
        self.remove([segment])
        return True

    def remove(self, segments: Iterable[Segment]) -> None:
        """Remove files; this is on disk when it returns."""
        for segment in segments:
            segment.path.unlink(missing_ok=True)
        if self.path.is_dir():
            sync_directory(self.path)

    def remove_unfinished(self) -> None:
        """Remove the files of an interrupted writing."""
        for path in self.path.glob(".writing-*") if self.path.is_dir() else ():
            path.unlink(missing_ok=True)

    def remove_after(self, base: int) -> None:
        """Remove the leftovers of an interrupted compaction: segments of records that are still in the file."""
        for segment in self.segments(1 << 62):
            if segment.last > base:
                segment.path.unlink(missing_ok=True)


def _hash(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def _line(row: Row) -> bytes:
    texts = [
        None if raw is None else raw.decode("utf-8", "surrogatepass") for raw in (row.key, row.origin, row.payload)
    ]
    salt = None if row.salt is None else row.salt.hex()
    return json.dumps([row.sequence, row.time, *texts, salt, row.digest.hex(), row.checksum.hex()]).encode("ascii")


def _row(line: bytes) -> Row:
    sequence, time, key, origin, payload, salt, digest, checksum = json.loads(line)
    key, origin, payload = (
        None if text is None else text.encode("utf-8", "surrogatepass") for text in (key, origin, payload)
    )
    return Row(
        sequence,
        time,
        key,
        origin,
        payload,
        None if salt is None else bytes.fromhex(salt),
        bytes.fromhex(digest),
        bytes.fromhex(checksum),
    )


def rows_after(archive: Archive, segments: Iterable[Segment], after: int) -> Iterator[tuple[bytes, list[Row]]]:
    """Yield the rows after a record, segment by segment, each with the checksum before its first row."""
    for segment in segments:
        if segment.last > after:
            previous, rows = archive.read(segment)
            skipped = max(0, after + 1 - segment.first)
            yield (rows[skipped - 1].checksum if skipped else previous), rows[skipped:]
