"""The server's log: lines of text or JSON, on stderr or in a file that may be rotated."""

import contextlib
import json
import logging
import os
import signal
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
STDERR = 2  # its file descriptor
EVENT = "abound_event"  # attribute of a record: a dict of further fields, `event` among them
LOG = logging.getLogger(__name__)
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


@dataclass(frozen=True)
class LogSettings:
    """What is logged, and where: `format` is text or json, `file` None for stderr.

    A request that takes longer than `slow_seconds` is logged as a warning; `access` logs every request.
    """

    format: str = "text"
    level: str = "info"
    file: str | None = None
    access: bool = False
    slow_seconds: float = 1.0

    def __post_init__(self) -> None:
        for name, value, allowed in (("format", self.format, FORMATS), ("level", self.level, LEVELS)):
            if value not in allowed:
                raise ValueError(f"--log-{name} must be one of {', '.join(allowed)}, got {value!r}")


class LineFile:
    """Append lines to a file, or to stderr, from several processes at once.

    The file is opened again if it was renamed or removed. A line that cannot be written, for example because the disk
    is full, is dropped and counted.

    Parameters
    ----------
    path : str, optional
        None for stderr.

    Attributes
    ----------
    n_dropped : int
        Lines that were dropped, and not reported yet.
    """

    def __init__(self, path: str | None) -> None:
        self.n_dropped = 0
        self._path = path
        self._descriptor = STDERR if path is None else _open(path)
        self._version = _version(os.fstat(self._descriptor)) if path is not None else None
        self._is_torn = False  # whether the last line was written in part

    def write(self, line: bytes) -> bool:
        """Append one line, with its newline; return whether it was written."""
        try:
            if self._path is not None and self._is_moved():
                self.reopen()
            whole = b"\n" + line if self._is_torn else line
            written = os.write(self._descriptor, whole)
            self._is_torn = written < len(whole) and (written > 0 or self._is_torn)
            if written == len(whole):
                return True
        except OSError:
            pass
        self.n_dropped += 1
        return False

    def _is_moved(self) -> bool:
        assert self._path is not None
        try:
            return _version(os.stat(self._path)) != self._version
        except FileNotFoundError:
            return True

    def reopen(self) -> None:
        """Open the file by its name again."""
        if self._path is None:
            return
        descriptor = _open(self._path)
        self._descriptor, before = descriptor, self._descriptor
        self._version, self._is_torn = _version(os.fstat(descriptor)), False
        os.close(before)

    def close(self) -> None:
        """Close the file."""
        if self._path is not None:
            os.close(self._descriptor)


def _open(path: str) -> int:
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the log {path} cannot be written: there is no directory {folder}")
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o640)


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


class TextFormatter(logging.Formatter):
    """`abound: MESSAGE`; with the time, the level and the process in a file, which has no other source of them."""

    def __init__(self, *, is_file: bool) -> None:
        super().__init__()
        self._is_file = is_file
        self._time = Clock()

    def format(self, record: logging.LogRecord) -> str:
        """Return a line, followed by the traceback of an exception."""
        # A path may contain a newline, and must not look like another line.
        message = record.getMessage()
        if not message.isprintable():
            message = message.translate(_CONTROLS)
        fields = getattr(record, EVENT, None)
        if fields is not None:
            message = f"{fields['event']}: {message} {_text_fields(fields)}"
        prefix = f"{self._time.show(record.created)} {record.levelname.lower()} [{record.process}] "
        line = f"{prefix if self._is_file else ''}abound: {message}"
        return line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}"


def _text_fields(fields: dict[str, Any]) -> str:
    """Return the fields that the message does not contain.

    Examples
    --------
    >>> _text_fields({"event": "request", "status": 200, "client": "127.0.0.1", "key": "the web shop"})
    'client=127.0.0.1 key="the web shop"'
    """
    shown = {name: value for name, value in fields.items() if name not in IN_MESSAGE and value is not None}
    return " ".join(f"{name}={_quoted(value)}" for name, value in shown.items())


IN_MESSAGE = {"event", "method", "path", "status"}


def _quoted(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)
    return value if value.isprintable() and " " not in value and '"' not in value else json.dumps(value)


class JsonFormatter(logging.Formatter):
    """One object per line."""

    def __init__(self) -> None:
        super().__init__()
        self._time = Clock()

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        shown: dict[str, Any] = {
            "time": self._time.show(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        fields = getattr(record, EVENT, None)
        if fields is not None:
            shown |= fields
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(shown).decode()
        except (UnicodeEncodeError, TypeError):  # a lone surrogate; escapes are valid JSON
            return json.dumps(shown, default=str)


class Clock:
    """Show times as ISO 8601 in UTC, with milliseconds.

    Examples
    --------
    >>> Clock().show(1.25)
    '1970-01-01T00:00:01.250Z'
    """

    def __init__(self) -> None:
        self._second = -1
        self._shown = ""

    def show(self, seconds: float) -> str:
        """Return a time in seconds since 1970 as text."""
        whole = int(seconds)
        if whole != self._second:  # most lines are of the same second as the last one
            self._shown = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
            self._second = whole
        return f"{self._shown}.{int((seconds - whole) * 1000):03d}Z"


class LogHandler(logging.Handler):
    """Write records to a `LineFile`; the number of lines that could not be written comes before the next one."""

    def __init__(self, settings: LogSettings) -> None:
        super().__init__()
        self.lines = LineFile(settings.file)
        is_json = settings.format == "json"
        self.setFormatter(JsonFormatter() if is_json else TextFormatter(is_file=settings.file is not None))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; one that cannot be formatted is reported, as every handler does."""
        try:
            line = self.format(record).encode("utf-8", "backslashreplace") + b"\n"
        except Exception:
            self.handleError(record)
            return
        dropped = self.lines.n_dropped
        if dropped:
            message = f"{dropped:,} log lines could not be written"
            notice = logging.LogRecord(LOG.name, logging.WARNING, __file__, 0, message, None, None)
            is_written = self.lines.write(self.format(notice).encode() + b"\n")
            self.lines.n_dropped = 0 if is_written else dropped
        self.lines.write(line)

    def reopen(self) -> None:
        """Open the file by its name again."""
        with self.lock or contextlib.nullcontext(), contextlib.suppress(OSError):
            self.lines.reopen()

    def close(self) -> None:
        """Close the file."""
        self.lines.close()
        super().close()


def configure(settings: LogSettings) -> None:
    """Send all messages of this process to the log; those of other packages from the level warning on.

    Parameters
    ----------
    settings : LogSettings
    """
    handler = LogHandler(settings)
    root = logging.getLogger()
    for earlier in [one for one in root.handlers if isinstance(one, LogHandler)]:
        root.removeHandler(earlier)
        earlier.close()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("abound").setLevel(settings.level.upper())
    if settings.file is not None or settings.format == "json":
        warnings.showwarning = _show_warning
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        if settings.file is not None:
            # In another thread: this one may be writing a line at the moment.
            signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=_reopen, args=(handler,)).start())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})  # a restart has blocked it


def _reopen(handler: LogHandler) -> None:
    handler.reopen()
    LOG.info("the log file was opened again")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    LOG.warning("%s", message)


def report(message: str) -> None:
    """Log a message for the operator."""
    LOG.info("%s", message)
