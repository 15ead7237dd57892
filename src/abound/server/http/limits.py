"""How much a request may hold, told before anything of it is parsed."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from abound.server.http.problems import Problem

LEARN_BYTES = 1 << 20  # a text, whether it is to be learnt or ranked
BATCH_BYTES = 8 << 20
EXPLAIN_BYTES = 1 << 16  # where each word stands in a text takes far longer to tell than its ranking
BODY_SECONDS = 30.0  # for a body to come
MOST_DEPTH = 32
MOST_FEATURES = 100_000
DISCARDED_BYTES = 64 << 20  # of a body too large: read, so that its sender hears the answer, and thrown away

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
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


def check_depth(body: bytes, limit: int = MOST_DEPTH) -> None:
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


def check_features(body: bytes, limit: int = MOST_FEATURES) -> None:
    """Raise a problem if a body that gives features gives too many of them."""
    if body.count(b":") > limit and b'"features"' in body and _STRING.sub(b"", body).count(b":") > limit + limit // 100:
        raise Problem(413, f"a row must have at most {limit:,} features", {b"x-abound-limit": b"%d" % limit})
