"""Errors as application/problem+json (RFC 9457)."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec
from msgspec import UNSET, UnsetType

from abound.errors import AboundError, JournalBusy, JournalUnavailable, RecordTooLarge, RefusedRecord, ReusedKey

RETRY_SECONDS = 1  # after which a request that was refused by a limit may be retried
RETRY_DISK_SECONDS = 5
MEDIA_TYPE = b"application/problem+json"
Header = tuple[bytes, bytes]
# Their messages are sent to the client. RefusedRecord comes last, because ReusedKey and RecordTooLarge are subclasses.
STATUS_OF = ((msgspec.ValidationError, 422), (ReusedKey, 409), (RecordTooLarge, 413), (RefusedRecord, 422))


class ProblemBody(msgspec.Struct, frozen=True):
    """The body of an error."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    error: str | UnsetType = UNSET  # the same as `detail`, where a protocol wants this name


class Problem(Exception):  # noqa: N818  the RFC's term
    """An error with an HTTP status.

    Parameters
    ----------
    status : int
    detail : str
        One sentence: what was wrong, and what would be right.
    headers : mapping, optional
    who : str, optional
        The name of the key that is refused, for the log.
    """

    def __init__(
        self, status: int, detail: str, headers: Mapping[bytes, bytes] | None = None, who: str | None = None
    ) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail
        self.who = who
        self.headers: Iterable[Header] = tuple((headers or {}).items())

    def body(self, as_error: bool = False) -> bytes:
        """Return the encoded body; `as_error` adds the message as `error`."""
        # The detail may quote the request, including a lone surrogate.
        detail = self.detail.encode("utf-8", "replace").decode()
        error = detail if as_error else UNSET
        return msgspec.json.encode(ProblemBody(HTTPStatus(self.status).phrase, self.status, detail, error=error))


def busy(status: int, detail: str, seconds: int = RETRY_SECONDS) -> Problem:
    """Return the problem of a request that should be retried later."""
    return Problem(status, detail, {b"retry-after": b"%d" % seconds})


def unknown_model(name: str) -> Problem:
    """Return the problem of a name that no model has."""
    return Problem(404, f"there is no model {name!r}; /v1/projects lists all models")


def problem_of(error: Exception) -> Problem | None:
    """Return the problem for an exception; None for an unexpected one."""
    if isinstance(error, Problem):
        return error
    for kind, status in STATUS_OF:
        if isinstance(error, kind):
            return Problem(status, str(error))
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError):
        return Problem(400, f"the body must be JSON in UTF-8: {error}")
    if isinstance(error, JournalBusy):
        return busy(429, str(error))
    if isinstance(error, JournalUnavailable):
        return busy(503, f"nothing can be learned at the moment: {error}", RETRY_DISK_SECONDS)
    if isinstance(error, AboundError):
        return busy(503, str(error), RETRY_DISK_SECONDS)
    return None
