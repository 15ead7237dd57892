"""A client of `abound serve`: the standard library, a kept connection, and retries that never teach twice."""

import http.client
import json
import random
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from abound.closing import Closing
from abound.errors import ServerError, ServerUnreachable

Name = str | int | float
RETRIED = (429, 503)  # statuses that a later try may change
FIRST_PAUSE = 0.1  # seconds before the second try, doubled each time
LONGEST_PAUSE = 5.0
BATCH_LABELS = 100_000  # texts times labels that one request asks for
BATCH_CHARACTERS = 1_000_000  # of its texts: a letter has up to six bytes of JSON


class Word(NamedTuple):
    """A word, its vote for a label, and where it stands in the text, if that was asked for."""

    word: str
    vote: float
    spans: list[tuple[int, int]] | None = None


class Ranked(NamedTuple):
    """One label of a ranking; rank 1 is best."""

    label: Name
    score: float
    rank: int
    name: str | None = None
    band: str | None = None
    probability: float | None = None
    words: list[Word] | None = None


class Explained(NamedTuple):
    """The words that speak for a label; their votes, and what any text has for it, sum to its score."""

    label: Name
    score: float
    words: list[Word]
    prior: float = 0.0


class Learnt(NamedTuple):
    """Where in the server's journal a correction stands, and whether it was there before."""

    sequence: int
    repeated: bool


class LabelMatch(NamedTuple):
    """A label and how many texts it had."""

    label: Name
    texts: int
    name: str | None = None


class Changes(NamedTuple):
    """How many texts and words a change of the labels concerns, and its sequence unless it was only tried."""

    texts: int
    words: int
    sequence: int | None


class Client(Closing):
    """Talk to a server of abound.

    What was learnt through a client is known to everything that it asks afterwards, whichever worker answers. A
    request that was not answered is sent again: each correction has a key by which the server knows it. A client
    serves one thread.

    Parameters
    ----------
    url : str
        Such as http://127.0.0.1:8000.
    key : str, optional
        A key of the server.
    timeout : float
        Seconds to wait for an answer.
    retries : int
        How often a request is sent again.

    Examples
    --------
    >>> from abound.client import Client
    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.learn("Growing roses in cold climates", added=["roses"])
    ...     client.rank("roses", k=1)
    """

    def __init__(self, url: str, *, key: str | None = None, timeout: float = 30.0, retries: int = 8) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"a server's address must be such as http://127.0.0.1:8000, got {url!r}")
        self.url = url
        self.sequence = 0  # the last record that an answer knew
        self._retries = retries
        self._path = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)

    # -- ranking -------------------------------------------------------------------------------------

    def rank(
        self,
        text: str | Mapping[str, float],
        k: int = 10,
        *,
        threshold: float | None = None,
        bands: bool = False,
        explain: bool = False,
    ) -> list[Ranked]:
        """Rank the labels of a text, or of features that are given with their weights."""
        what = {"text": text} if isinstance(text, str) else {"features": dict(text)}
        body = {**what, "k": k, "threshold": threshold, "bands": bands, "explain": explain}
        return [_ranked(entry) for entry in self._post("/v1/rank", body)["labels"]]

    def rank_many(
        self, texts: Sequence[str], k: int = 10, *, threshold: float | None = None, bands: bool = False
    ) -> list[list[Ranked]]:
        """Rank the labels of each text; many are sent a part at a time."""
        results: list[list[Ranked]] = []
        for part in _parts(texts, max(1, BATCH_LABELS // max(1, k))):
            body = {"texts": part, "k": k, "threshold": threshold, "bands": bands}
            found = self._post("/v1/rank/batch", body)["results"]
            results += [[_ranked(entry) for entry in row] for row in found]
        return results

    def explain(self, text: str, label: Name) -> Explained:
        """Ask which words of a text speak for a label."""
        found = self._post("/v1/explain", {"text": text, "label": label})
        return Explained(found["label"], found["score"], _words(found["words"]), found.get("prior", 0.0))

    # -- teaching ------------------------------------------------------------------------------------

    def learn(
        self,
        text: str,
        *,
        accepted: Iterable[Name] = (),
        rejected: Iterable[Name] = (),
        added: Iterable[Name] = (),
        key: str | None = None,
    ) -> Learnt:
        """Teach what a person said of a text's labels; it is on the server's disk when this returns.

        Parameters
        ----------
        text : str
        accepted, rejected : iterable of names
            Labels that were proposed and are right, or wrong.
        added : iterable of names
            Labels that are right and were not proposed.
        key : str, optional
            Under which the server applies it once, however often it is sent; a fresh one if left out.
        """
        body = {"text": text, "accepted": [*accepted], "rejected": [*rejected], "added": [*added]}
        found = self._post("/v1/learn", body, key or uuid.uuid4().hex)
        return Learnt(found["sequence"], found["repeated"])

    # -- labels --------------------------------------------------------------------------------------

    def labels(self, prefix: str = "", limit: int = 20) -> list[LabelMatch]:
        """Find labels by the beginning of a word of their names, the most frequent first."""
        query = urlencode({"prefix": prefix, "limit": limit})
        found = self._ask("GET", f"/v1/labels?{query}")["labels"]
        return [LabelMatch(entry["label"], entry["count"], entry.get("name")) for entry in found]

    def add_label(self, label: Name, names: Iterable[str] = (), *, dry_run: bool = False) -> Changes:
        """Make a label known, and what people call it."""
        return self._change({"add": {"label": label, "names": [*names]}, "dry_run": dry_run})

    def rename_label(self, label: Name, to: Name, *, dry_run: bool = False) -> Changes:
        """Give a label another name."""
        return self._change({"rename": {"label": label, "to": to}, "dry_run": dry_run})

    def merge_labels(self, label: Name, into: Name, *, dry_run: bool = False) -> Changes:
        """Make a label one with another."""
        return self._change({"merge": {"label": label, "into": into}, "dry_run": dry_run})

    def retire_label(self, label: Name, *, dry_run: bool = False) -> Changes:
        """Have a label not ranked any more."""
        return self._change({"retire": {"label": label}, "dry_run": dry_run})

    def _change(self, body: dict[str, Any]) -> Changes:
        found = self._ask("PATCH", "/v1/labels", body, uuid.uuid4().hex)
        return Changes(found["changes"]["texts"], found["changes"]["words"], found.get("sequence"))

    # -- the server ----------------------------------------------------------------------------------

    def model(self, *, state_hash: bool = False) -> dict[str, Any]:
        """Ask what is served; the hash of its state takes long for a large model."""
        found: dict[str, Any] = self._ask("GET", "/v1/model?hash=1" if state_hash else "/v1/model")
        return found

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._connection.close()

    # -- sending -------------------------------------------------------------------------------------

    def _post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        return self._ask("POST", path, body, key)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None, key: str | None = None) -> Any:
        headers = {**self._headers, "X-Abound-Sequence": str(self.sequence)}
        if key is not None:
            headers["Idempotency-Key"] = key
        raw = None
        if body is not None:
            raw = json.dumps(body, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
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
                    words = str(error) or type(error).__name__
                    raise ServerUnreachable(f"{self.url} does not answer: {words}") from error
                wanted = 0.0
            time.sleep(min(max(pause, wanted), LONGEST_PAUSE) * random.uniform(0.8, 1.2))  # noqa: S311  not at once
            pause *= 2
        raise AssertionError  # the last try returned or raised

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        self._connection.request(method, self._path + path, body, headers)
        answer = self._connection.getresponse()
        raw = answer.read()
        if answer.status >= 400:
            raise _error(answer, raw)
        self.sequence = max(self.sequence, int(answer.headers.get("X-Abound-Sequence", "0")))
        return json.loads(raw)


def _error(answer: http.client.HTTPResponse, raw: bytes) -> ServerError:
    try:
        found = json.loads(raw)
        detail = str(found["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.reason
    after = answer.headers.get("Retry-After", "")
    return ServerError(answer.status, detail, float(after) if after.isdigit() else None)


def _words(found: list[dict[str, Any]]) -> list[Word]:
    return [
        Word(word["word"], word["vote"], [(a, b) for a, b in word["spans"]] if "spans" in word else None)
        for word in found
    ]


def _parts(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield texts in parts of so many at the most, or of so many letters."""
    part: list[str] = []
    letters = 0
    for text in texts:
        if part and (len(part) == most or letters + len(text) > BATCH_CHARACTERS):
            yield part
            part, letters = [], 0
        part.append(text)
        letters += len(text)
    if part:
        yield part


def _ranked(found: dict[str, Any]) -> Ranked:
    words = _words(found["words"]) if "words" in found else None
    name, band, probability = (found.get(name) for name in ("name", "band", "probability"))
    return Ranked(found["label"], found["score"], found["rank"], name, band, probability, words)
