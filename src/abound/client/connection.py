"""The connection to a server: it is kept, and a request that was not answered is sent again."""

import http.client
import json
import random
import re
import time
import warnings
from typing import Any
from urllib.parse import urlsplit

from abound.closing import Closing
from abound.errors import JournalWarning, ServerError, ServerUnreachable

RETRIED = (429, 503)  # statuses of requests that may succeed later
FIRST_PAUSE = 0.1  # seconds before the first retry, doubled each time
LONGEST_PAUSE = 5.0
CREDENTIALS = re.compile(r"(?<=//)[^/?#]*@")  # the name and the password in a URL


class Connection(Closing):
    """Send requests, each of which reflects what earlier answers did; see `Client`."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        retries: int = 8,
        source: str = "client",
    ) -> None:
        parts = urlsplit(url)
        self.url = CREDENTIALS.sub("", url)  # for messages
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"a server's address must be a URL such as http://127.0.0.1:8000, got {self.url!r}")
        self.sequence = 0  # the last record that an answer reflected
        self.journal: str | None = None  # the journal that this record belongs to
        self._retries = retries
        self._path = parts.path.rstrip("/")
        self._headers = {"X-Abound-Source": source}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._connection.close()

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        """Send JSON, and return that of the answer."""
        return self.request("POST", path, body, key)

    def request(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        key: str | None = None,
        media_type: str = "application/json",
    ) -> Any:
        """Send a request until it is answered, and return the answer's JSON; ServerError if it was refused.

        `key` is its idempotency key.
        """
        headers = dict(self._headers)
        if key is not None:
            headers["Idempotency-Key"] = key
        raw = json.dumps(body, allow_nan=False).encode() if isinstance(body, dict) else body
        if raw is not None:
            headers["Content-Type"] = media_type
        try:
            return self._send_until_answered(method, path, raw, headers)
        except ServerError as error:
            if error.status != 412 or not self.sequence:
                raise
        self._forget(f"the server's journal ends before record {self.sequence}, so it was restored from a copy")
        return self._send_until_answered(method, path, raw, headers)

    def _send_until_answered(self, method: str, path: str, raw: bytes | None, headers: dict[str, str]) -> Any:
        pause = FIRST_PAUSE
        for left in range(self._retries, -1, -1):
            try:
                return self._send(method, path, raw, headers)
            except ServerError as error:
                if error.status not in RETRIED or not left:
                    raise
                wanted = error.retry_after or 0.0
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if not left:
                    cause = str(error) or type(error).__name__
                    raise ServerUnreachable(f"{self.url} does not answer: {cause}") from error
                wanted = 0.0
            time.sleep(min(max(pause, wanted), LONGEST_PAUSE) * random.uniform(0.8, 1.2))  # noqa: S311  jitter
            pause *= 2
        raise AssertionError  # the last attempt returned or raised

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        seen = {"X-Abound-Sequence": str(self.sequence)}
        if self.journal is not None:
            seen["X-Abound-Journal"] = self.journal
        self._connection.request(method, self._path + path, body, {**headers, **seen})
        answer = self._connection.getresponse()
        raw = answer.read()
        journal = answer.headers.get("X-Abound-Journal")
        if journal is not None and journal != self.journal:
            if self.journal is not None:
                self._forget("the server now serves another journal")
            self.journal = journal
        if answer.status >= 400:
            raise _error(answer, raw)
        self.sequence = max(self.sequence, int(answer.headers.get("X-Abound-Sequence", "0")))
        return json.loads(raw)

    def _forget(self, why: str) -> None:
        """Forget the sequence, which the server's journal does not have."""
        self.sequence = 0
        warnings.warn(f"{why}; earlier sequences do not apply", JournalWarning, stacklevel=2)


def _error(answer: http.client.HTTPResponse, raw: bytes) -> ServerError:
    try:
        detail = str(json.loads(raw)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.reason
    after = answer.headers.get("Retry-After", "")
    return ServerError(answer.status, detail, float(after) if after.isdigit() else None)
