"""How much a request may hold, told before anything of it is parsed."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np

from abound.server.http.problems import Problem

LEARN_BYTES = 1 << 20  # of a body with a text, whether it is to be learnt or ranked
TEXT_BYTES = 1 << 19  # of a text: it is cut into words while everybody else waits
BATCH_BYTES = 8 << 20
EXPLAIN_BYTES = 1 << 16  # where each word stands in a text takes far longer to tell than its ranking
ANSWER_BYTES = 32 << 20  # of a batch, or of explanations
MAX_WORDS = 125_000  # of a text
MAX_RANKED = 250_000  # texts of a batch times labels asked for
MAX_EXPLAINED = 250_000  # places of known words in a text times labels to be explained
BODY_SECONDS = 30.0  # for a body to come
MAX_DEPTH = 32
MAX_FEATURES = 100_000
DISCARDED_BYTES = 64 << 20  # of a body too large: read, so that its sender hears the answer, and thrown away

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
INSPECTED_BYTES = 1 << 16  # bytes of a body that was refused
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_IN_WORDS = np.array([byte >= 128 or chr(byte).isalnum() or byte == ord("_") for byte in range(256)])
_BRACKET = re.compile(rb"[\[\]{}]")


async def read_body(receive: Receive, declared: bytes | None, limit: int) -> bytes:
    """Return a body, or raise the problem that it has more bytes than it may have, or takes too long to come."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(receive, declared, limit)
    except TimeoutError:
        words = f"the body must have come after {BODY_SECONDS:g} seconds"
        raise Problem(408, words, {b"connection": b"close"}) from None


async def _read(receive: Receive, declared: bytes | None, limit: int) -> bytes:
    if declared is not None and declared.isdigit() and int(declared) > limit:
        await _discard(receive, int(declared))
        raise too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        if len(body) > limit:
            raise too_large(limit)
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the body ended before its time")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            await _discard(receive, DISCARDED_BYTES if message.get("more_body") else 0)
            raise too_large(limit)
    return b"".join(parts)


async def _discard(receive: Receive, size: int) -> None:
    if not 0 < size <= DISCARDED_BYTES:
        return
    read = 0
    while read < DISCARDED_BYTES:
        message = await receive()
        read += len(message.get("body", b""))
        if not message.get("more_body"):
            return


def too_large(limit: int) -> Problem:
    """Return the problem of a body with too many bytes."""
    return Problem(413, f"the body must have at most {limit:,} bytes", {b"x-abound-limit": b"%d" % limit})


def check_text(text: str) -> None:
    """Raise the problem of a text that takes too long to be cut into words.

    Examples
    --------
    >>> check_text("a " * 125_001)
    Traceback (most recent call last):
    ...
    abound.server.http.problems.Problem: (413, 'a text must have at most 125,000 words')
    """
    n_letters = len(text)
    if n_letters < 2 * MAX_WORDS and 4 * n_letters <= TEXT_BYTES:
        return
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > TEXT_BYTES:
        words = f"a text must have at most {TEXT_BYTES:,} bytes"
        raise Problem(413, words, {b"x-abound-limit": b"%d" % TEXT_BYTES})
    if n_letters >= 2 * MAX_WORDS:
        within = _IN_WORDS[np.frombuffer(raw, np.uint8)]
        if int(np.count_nonzero(within[1:] & ~within[:-1])) + int(within[0]) > MAX_WORDS:
            words = f"a text must have at most {MAX_WORDS:,} words"
            raise Problem(413, words, {b"x-abound-limit": b"%d" % MAX_WORDS})


def check_ranked(n_texts: int, k: int) -> None:
    """Raise the problem of a batch that asks for too many labels.

    Examples
    --------
    >>> check_ranked(1000, 1000)
    Traceback (most recent call last):
    ...
    abound.server.http.problems.Problem: (413, '1,000 texts with k=1000 ask for ... send at most 250 texts at a time')
    """
    if n_texts * k > MAX_RANKED:
        raise Problem(
            413,
            f"{n_texts:,} texts with k={k} ask for {n_texts * k:,} labels, and a batch may ask for {MAX_RANKED:,}; "
            f"send at most {MAX_RANKED // k:,} texts at a time",
            {b"x-abound-limit": b"%d" % MAX_RANKED},
        )


def check_explained(n_places: int, n_parts: int) -> None:
    """Raise the problem of too many reasons."""
    if n_places * n_parts > MAX_EXPLAINED:
        raise Problem(
            413,
            f"{n_parts:,} labels or parts of merged ones cannot be explained for a text of {n_places:,} known words; "
            f"ask for at most {max(1, MAX_EXPLAINED // n_places):,}, or send less text",
            {b"x-abound-limit": b"%d" % MAX_EXPLAINED},
        )


def answer_too_large() -> Problem:
    """Return the problem of an answer with too many bytes."""
    words = f"the answer would have more than {ANSWER_BYTES:,} bytes; ask for fewer labels, or send less text"
    return Problem(413, words, {b"x-abound-limit": b"%d" % ANSWER_BYTES})


def explain_refusal(body: bytes) -> None:
    """Raise the problem of a body that could not be parsed because there was too much in it.

    This is asked only of bodies that were refused, and looks at their beginning: to go through all brackets of a
    large body would take longer than to parse it.
    """
    check_depth(body[:INSPECTED_BYTES])
    if len(body) > MAX_FEATURES:
        check_features(body)


def check_depth(body: bytes, limit: int = MAX_DEPTH) -> None:
    """Raise a problem if JSON is nested deeper than it may be.

    Examples
    --------
    >>> check_depth(b'{"text": "[[[["}', limit=1)
    >>> check_depth(b'[[1]]', limit=1)
    Traceback (most recent call last):
    ...
    abound.server.http.problems.Problem: (413, 'the body must be nested at most 1 deep')
    """
    if body.count(b"[") + body.count(b"{") <= limit:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", body)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > limit:
            raise Problem(413, f"the body must be nested at most {limit} deep", {b"x-abound-limit": b"%d" % limit})


def check_features(body: bytes, limit: int = MAX_FEATURES) -> None:
    """Raise a problem if a body that gives features gives too many of them."""
    if body.count(b":") > limit and b'"features"' in body and _STRING.sub(b"", body).count(b":") > limit + limit // 100:
        raise Problem(413, f"a row must have at most {limit:,} features", {b"x-abound-limit": b"%d" % limit})
