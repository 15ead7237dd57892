"""The scores of a service behind HTTP, such as a cross-encoder or a language model."""

import hashlib
import json
import logging
import math
import threading
import time
from array import array
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import NamedTuple

from abound.errors import ServerError, ServerUnreachable
from abound.posting import address_of, post_json, read_key
from abound.texts import Text, joined

LOG = logging.getLogger(__name__)
KEY = "ABOUND_SECOND_OPINION_KEY"  # the environment variable of the service's key
SECONDS = 2.0
CACHED_ANSWERS = 10_000
MAX_ANSWER = 1 << 20  # bytes
MAX_FAILURES = 5  # in a row; then the service is not asked for a while
PAUSE_SECONDS = 10.0
BUDGET_SECONDS = 60.0
REPORT_SECONDS = 60.0  # a service that fails and answers in turn is reported at most this often


class OpinionCounts(NamedTuple):
    """What happened to the questions so far.

    Attributes
    ----------
    asked : int
        Requests that were sent; each of them is answered, failed, or still in progress.
    answered : int
    failed : int
        Requests without a usable answer.
    cached : int
        Questions that were answered from the cache.
    over_budget : int
        Questions that were not sent because of the budget.
    paused : int
        Questions that were not sent because the service had failed too often.
    """

    asked: int = 0
    answered: int = 0
    failed: int = 0
    cached: int = 0
    over_budget: int = 0
    paused: int = 0


class OutsideOpinion:
    """Ask a service how well labels fit a text.

    The service receives `{"text": "...", "labels": [{"id": "...", "name": "..."}, ...]}` and answers
    `{"scores": {"id": number, ...}}`. The labels are sorted by identifier, so that the service does not see their
    ranking. A label without a score is allowed. After 5 failures in a row, the service is not asked for 10 seconds;
    then one request tests it. Several threads can ask at the same time.

    The environment variable `ABOUND_SECOND_OPINION_KEY` can contain a bearer token.

    Parameters
    ----------
    url : str
        The address of the service, of http or https. A user and a password are sent as Basic credentials.
    timeout : float
        How many seconds to wait for an answer in total.
    budget : int, optional
        How many requests may be sent in any minute; by default, there is no limit.
    cache_size : int
        How many answers are kept, those that were used last.
    pause : float
        How many seconds a service that fails is not asked.

    Raises
    ------
    ValueError
        If an argument is not valid.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = SECONDS,
        budget: int | None = None,
        cache_size: int = CACHED_ANSWERS,
        pause: float = PAUSE_SECONDS,
    ) -> None:
        if not (math.isfinite(timeout) and timeout > 0):
            raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
        if budget is not None and budget < 1:
            raise ValueError(f"budget must be at least 1 request per minute, or None, got {budget!r}")
        if cache_size < 0:
            raise ValueError(f"cache_size must be at least 0, got {cache_size!r}")
        self._address = address_of(url, read_key(KEY))
        self._timeout, self._cache_size, self._pause = timeout, cache_size, pause
        self._lock = threading.Lock()  # of everything below
        self._cache: OrderedDict[bytes, array[float]] = OrderedDict()
        self._sent: deque[float] | None = None if budget is None else deque(maxlen=budget)  # times of the last requests
        self._failures = 0  # in a row
        self._resumes = 0.0  # when a service that fails is asked again
        self._is_reported = False
        self._next_report = -math.inf
        self._counts = dict.fromkeys(OpinionCounts._fields, 0)

    @property
    def counts(self) -> OpinionCounts:
        """What happened to the questions so far."""
        with self._lock:
            return OpinionCounts(**self._counts)

    @property
    def is_failing(self) -> bool:
        """Whether the last request failed."""
        with self._lock:
            return self._failures > 0

    def ask(self, text: Text, labels: Sequence[tuple[str, str]]) -> dict[str, float] | None:
        """Return the service's scores of labels.

        Parameters
        ----------
        text : str or mapping from field to string
        labels : sequence of (identifier, name)

        Returns
        -------
        scores : dict or None
            A finite number by identifier. None if the service was not asked, or did not answer in time and as expected.
        """
        if not labels:
            return {}
        ordered = sorted(set(labels))
        question = {"text": joined(text), "labels": [{"id": label, "name": name} for label, name in ordered]}
        body = json.dumps(question).encode()
        digest = hashlib.blake2b(body, digest_size=20).digest()  # texts would take much memory
        with self._lock:
            scores = self._find(digest)
            if scores is None and not self._may_ask():
                return None
        if scores is None:
            scores = self._request(body, digest, [label for label, _ in ordered])
        if scores is None:
            return None
        pairs = zip(ordered, scores, strict=True)
        return {label: score for (label, _), score in pairs if not math.isnan(score)}

    def _find(self, digest: bytes) -> "array[float] | None":
        """Return a cached answer; the lock is held."""
        scores = self._cache.get(digest)
        if scores is not None:
            self._cache.move_to_end(digest)
            self._counts["cached"] += 1
        return scores

    def _may_ask(self) -> bool:
        """Return whether a request may be sent, and count it; the lock is held."""
        now = time.monotonic()
        is_test = self._failures >= MAX_FAILURES
        if is_test and now < self._resumes:
            self._counts["paused"] += 1
            return False
        if self._sent is not None:
            if len(self._sent) == self._sent.maxlen and now - self._sent[0] < BUDGET_SECONDS:
                self._counts["over_budget"] += 1
                return False
            self._sent.append(now)
        if is_test:
            self._resumes = now + self._pause  # the other threads wait for the result of this request
        self._counts["asked"] += 1
        return True

    def _request(self, body: bytes, digest: bytes, labels: list[str]) -> "array[float] | None":
        """Return the score of each label, NaN if it has none; None if the service failed."""
        try:
            answer = post_json(self._address, body, seconds=self._timeout, max_bytes=MAX_ANSWER)
            scores = read_scores(answer, labels)
        except ServerError as error:
            self._note_failure(f"it answered {error.status}")  # what it says may quote the text or the key
            return None
        except (ServerUnreachable, ValueError) as error:
            self._note_failure(str(error))
            return None
        self._note_answer(digest, scores)
        return scores

    def _note_answer(self, digest: bytes, scores: "array[float]") -> None:
        with self._lock:
            self._counts["answered"] += 1
            self._failures = 0
            was_reported, self._is_reported = self._is_reported, False
            self._cache[digest] = scores
            self._cache.move_to_end(digest)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)
        if was_reported:
            LOG.warning("the second opinion of %s is available again", self._address.shown)

    def _note_failure(self, cause: str) -> None:
        with self._lock:
            now = time.monotonic()
            self._counts["failed"] += 1
            self._failures += 1
            self._resumes = now + self._pause
            is_reported = self._is_reported or now < self._next_report
            if not is_reported:
                self._is_reported = True
                self._next_report = now + REPORT_SECONDS
        if not is_reported:
            LOG.warning("no second opinion of %s: %s; labels are ranked without it", self._address.shown, cause)


def read_scores(answer: object, labels: Sequence[str]) -> "array[float]":
    """Return the score of each label in an answer, NaN if it has none.

    Raises
    ------
    ValueError
        If the answer has another form, a score that is not a finite number, or scores of other labels only.

    Examples
    --------
    >>> read_scores({"scores": {"a": 2, "z": 1}}, ["a", "b"])
    array('d', [2.0, nan])
    """
    scores = answer.get("scores") if isinstance(answer, dict) else None
    if not isinstance(scores, dict):
        raise ValueError('the answer must be JSON such as {"scores": {"label": 0.5}}')
    found = array("d", [math.nan]) * len(labels)
    for at, label in enumerate(labels):
        if label in scores:
            found[at] = _number(scores[label])
    if scores and all(map(math.isnan, found)):
        raise ValueError("the answer has scores of other labels only; their identifiers must be those of the request")
    return found


def _number(value: object) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise ValueError("a score of the answer is not a finite number")
