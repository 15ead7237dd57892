"""What a key may do: requests and learned records in a minute, and bytes in progress, over all processes of a server.

A key has up to four files in the directory `key-uses` beside the file of the keys: one for each limit, see
`windows.py`, and the time of its last use. Their names are hashes.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from abound.server.http.problems import Problem, problem_of
from abound.server.http.windows import Full, InProgress, Taken, Window, locked_file

LOG = logging.getLogger(__name__)
FOLDER = "key-uses"
MAX_PER_MINUTE = 100_000
NOTED_SECONDS = 60.0  # the last use is stored at most this often
RETRY_SECONDS = 5  # if the files cannot be used
_KINDS = ("requests", "learns", "memory", "used")
TIME = "%Y-%m-%dT%H:%M:%SZ"  # UTC
_TIME_BYTES = 20


class Limits(NamedTuple):
    """The limits of a key: requests and learned records in any minute, and bytes of bodies in progress; or None."""

    requests: int | None = None
    learns: int | None = None
    memory: int | None = None


class KeyRefused(Problem):
    """The problem of a request that is refused because of its key; `reason` is one of `metrics.REASONS`."""

    def __init__(
        self,
        reason: str,
        status: int,
        detail: str,
        headers: Mapping[bytes, bytes] | None = None,
        who: str | None = None,
    ) -> None:
        super().__init__(status, detail, headers, who=who)
        self.reason = reason


class Learning:
    """Records that a request may write; call `give_back` if it writes none."""

    def __init__(self, window: Window, taken: Taken) -> None:
        self._window = window
        self._taken: Taken | None = taken

    def give_back(self) -> None:
        """Do not count the records."""
        taken, self._taken = self._taken, None
        if taken is not None:
            _change(self._window.path, lambda: self._window.give_back(taken))

    def end(self) -> None:
        """Count the records as written now."""
        taken, self._taken = self._taken, None
        if taken is not None:
            _change(self._window.path, lambda: self._window.end(taken))


class Allowance:
    """The limits of one key, and what it uses of them.

    Parameters
    ----------
    folder : path
        The directory of the file of the keys.
    name : str
        The name of the key.
    identity : str
        Distinguishes the key from earlier ones of the same name.
    limits : Limits
    """

    def __init__(self, folder: Path, name: str, identity: str, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self._stem = folder / FOLDER / hashlib.sha256(f"{name}\n{identity}".encode()).hexdigest()[:32]
        requests, learns, memory = limits
        self._requests = None if requests is None else Window(self._path("requests"), requests)
        self._learns = None if learns is None else Window(self._path("learns"), learns)
        self._memory = None if memory is None else InProgress(self._path("memory"), memory)
        self._noted = -NOTED_SECONDS

    def _path(self, kind: str) -> Path:
        return self._stem.with_suffix(f".{kind}")

    def prepare(self) -> None:
        """Create the files, so that a disk that is full later does not matter."""
        for part in (self._requests, self._learns, self._memory):
            if part is not None:
                part.prepare()
        with locked_file(self._path("used"), _TIME_BYTES):
            pass

    def remove(self) -> None:
        """Remove the files."""
        for kind in _KINDS:
            self._path(kind).unlink(missing_ok=True)

    def last_use(self) -> str | None:
        """Return when the key was used last, within a minute; None if it was not."""
        try:
            said = self._path("used").read_bytes()
        except OSError:
            return None
        return said.decode("ascii") if len(said) == _TIME_BYTES and said[0] else None

    def note_use(self) -> None:
        """Store the time, at most once a minute."""
        now = time.monotonic()
        if now - self._noted < NOTED_SECONDS:
            return
        self._noted = now
        try:
            with locked_file(self._path("used"), _TIME_BYTES) as file:
                os.write(file, time.strftime(TIME, time.gmtime()).encode())
        except OSError as error:  # the request itself can be answered
            LOG.warning("the last use of the key %r cannot be stored: %s", self.name, error)

    @contextlib.contextmanager
    def request(self, n_bytes: int) -> Iterator[None]:
        """Count a request with a body of some bytes while it is answered; raise KeyRefused if it does not fit."""
        with contextlib.ExitStack() as stack:
            if self._requests is not None:
                stack.enter_context(self._counted(self._requests))
            if self._memory is not None and n_bytes:
                stack.enter_context(self._in_progress(self._memory, n_bytes))
            yield

    @contextlib.contextmanager
    def _counted(self, window: Window) -> Iterator[None]:
        try:
            with self._checked():
                taken = window.take()
        except Full as full:
            raise self._too_many("requests", f"{window.limit:,} requests in a minute", full.seconds) from None
        try:
            yield
        except KeyRefused:
            _change(window.path, lambda: window.give_back(taken))
            raise
        except BaseException:
            _change(window.path, lambda: window.end(taken))
            raise
        _change(window.path, lambda: window.end(taken))

    @contextlib.contextmanager
    def _in_progress(self, memory: InProgress, n_bytes: int) -> Iterator[None]:
        if n_bytes > memory.limit:
            raise KeyRefused(
                "memory",
                413,
                f"the key {self.name!r} may send {memory.limit:,} bytes at a time, and this body may have {n_bytes:,}; "
                "send a smaller one, with Content-Length",
                {b"x-abound-limit": b"%d" % memory.limit},
            )
        try:
            with self._checked():
                memory.take(n_bytes)
        except Full as full:
            raise self._too_many("memory", f"{memory.limit:,} bytes in requests at a time", full.seconds) from None
        try:
            yield
        finally:
            _change(memory.path, lambda: memory.end(n_bytes))

    @contextlib.contextmanager
    def learning(self, n: int) -> Iterator[Learning | None]:
        """Count records while they are written; raise KeyRefused if they do not fit.

        A record that was refused does not count. If it is not known whether it was written, it counts.
        """
        window = self._learns
        if window is None or n == 0:
            yield None
            return
        if n > window.limit:
            raise KeyRefused(
                "learns",
                413,
                f"the key {self.name!r} may teach {window.limit:,} records in a minute, and this request has {n:,}; "
                f"send at most {window.limit:,} at a time",
                {b"x-abound-limit": b"%d" % window.limit},
            )
        try:
            with self._checked():
                learning = Learning(window, window.take(n))
        except Full as full:
            raise self._too_many("learns", f"{window.limit:,} records in a minute", full.seconds) from None
        try:
            yield learning
        except Exception as error:
            problem = problem_of(error)
            if n == 1 and problem is not None and problem.status < 500:
                learning.give_back()
            raise  # otherwise they count as under way, and may still be written
        learning.end()

    def _too_many(self, reason: str, what: str, seconds: int) -> KeyRefused:
        verb = "teach" if reason == "learns" else "send"
        message = f"the key {self.name!r} may {verb} {what}; try again in {seconds} s"
        return KeyRefused(reason, 429, message, {b"retry-after": b"%d" % seconds})

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        """Refuse a request whose limits cannot be checked."""
        try:
            yield
        except OSError as error:
            LOG.error("the limits of the key %r cannot be checked: %s", self.name, error)
            message = f"the limits of the key {self.name!r} cannot be checked: {error.strerror}; see the server's log"
            raise Problem(503, message, {b"retry-after": b"%d" % RETRY_SECONDS}) from None


def _change(path: Path, change: Callable[[], None]) -> None:
    """Change a file after the work is done; if that fails, the work counts for somewhat longer."""
    try:
        change()
    except OSError as error:
        LOG.error("%s cannot be changed: %s", path, error)
