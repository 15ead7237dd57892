"""Limits of requests, most of which are checked before anything is parsed."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np

from abound.server.http.problems import Problem
from abound.tagger import Tagger
from abound.texts import Text, joined

LEARN_BYTES = 1 << 20  # of a body with a text to learn or to rank
TEXT_BYTES = 1 << 19  # of a text: it is tokenized while other requests wait
BATCH_BYTES = 8 << 20
EDITS_BYTES = 12 << 20  # of a body with several label edits; their record has at most 8 MiB
FILE_BYTES = 16 << 20  # of a file whose text is extracted
EXPLAIN_BYTES = 1 << 16  # locating each word of a text takes far longer than ranking it
ANSWER_BYTES = 32 << 20  # of a batch, or of explanations
LONG_TEXT = 100_000  # characters; a longer text is tokenized in one piece of work and ranked in the next
MAX_WORDS = 125_000  # of a text
MAX_RANKED = 250_000  # texts of a batch times k
MAX_EXPLAINED = 250_000  # positions of known words in a text times labels to explain
BODY_SECONDS = 30.0  # for a body to arrive
MAX_DEPTH = 32
MAX_FEATURES = 100_000
DISCARDED_BYTES = 64 << 20  # of a body that is too large: read and discarded, so that its sender gets the answer

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
INSPECTED_BYTES = 1 << 16  # of a body that was refused
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_IN_WORDS = np.array([byte >= 128 or chr(byte).isalnum() or byte == ord("_") for byte in range(256)])
_BRACKET = re.compile(rb"[\[\]{}]")


async def read_body(receive: Receive, declared: bytes | None, limit: int) -> bytes:
    """Return a body; raise Problem if it has too many bytes or takes too long."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(receive, declared, limit)
    except TimeoutError:
        message = f"the body must arrive within {BODY_SECONDS:g} seconds"
        raise Problem(408, message, {b"connection": b"close"}) from None


def kept_bytes(headers: Mapping[bytes, bytes], limit: int) -> int:
    """Return how many bytes of a body are kept at most; one that is too large is refused, and not kept.

    Examples
    --------
    >>> [kept_bytes(headers, 100) for headers in ({}, {b"content-length": b"7"}, {b"content-length": b"101"})]
    [100, 7, 0]
    """
    declared = headers.get(b"content-length", b"")
    if not declared.isdigit():
        return limit
    return int(declared) if len(declared) < 16 and int(declared) <= limit else 0


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
            raise Problem(400, "the connection was closed before the end of the body")
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


def check_text(text: Text) -> None:
    """Raise Problem if a text would take too long to tokenize.

    Examples
    --------
    >>> check_text("a " * 125_001)
    Traceback (most recent call last):
    ...
    abound.server.http.problems.Problem: (413, 'a text must have at most 125,000 words')
    """
    text = joined(text)
    n_characters = len(text)
    if n_characters < 2 * MAX_WORDS and 4 * n_characters <= TEXT_BYTES:
        return
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > TEXT_BYTES:
        message = f"a text must have at most {TEXT_BYTES:,} bytes"
        raise Problem(413, message, {b"x-abound-limit": b"%d" % TEXT_BYTES})
    if n_characters >= 2 * MAX_WORDS:
        within = _IN_WORDS[np.frombuffer(raw, np.uint8)]
        if int(np.count_nonzero(within[1:] & ~within[:-1])) + int(within[0]) > MAX_WORDS:
            message = f"a text must have at most {MAX_WORDS:,} words"
            raise Problem(413, message, {b"x-abound-limit": b"%d" % MAX_WORDS})


def cut_text(text: str) -> str:
    """Return the beginning of a text that `check_text` accepts."""
    text = text.encode()[:TEXT_BYTES].decode("utf-8", "ignore")
    try:
        check_text(text)
    except Problem:  # too many words: this many characters cannot have them
        text = text[: 2 * MAX_WORDS - 1]
    return text


def check_fields(tagger: Tagger, text: Text) -> None:
    """Raise Problem if a text has fields that the model does not have.

    A model that was fitted without fields joins those of a text.
    """
    known = tagger.encoder.fields
    if known is None or isinstance(text, str):
        return
    for name in text:
        if name not in known:
            raise Problem(422, f"the model has no field {name!r}; its fields: {', '.join(known)}")


def check_ranked(n_texts: int, k: int) -> None:
    """Raise Problem if a batch asks for too many labels.

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


def check_explained(n_positions: int, n_labels: int) -> None:
    """Raise Problem if explanations would take too long; parts of merged labels count as labels."""
    if n_positions * n_labels > MAX_EXPLAINED:
        raise Problem(
            413,
            f"{n_labels:,} labels or parts of merged labels cannot be explained for a text of {n_positions:,} known "
            f"words; ask for at most {max(1, MAX_EXPLAINED // n_positions):,}, or send less text",
            {b"x-abound-limit": b"%d" % MAX_EXPLAINED},
        )


def answer_too_large() -> Problem:
    """Return the problem of an answer with too many bytes."""
    message = f"the answer would have more than {ANSWER_BYTES:,} bytes; ask for fewer labels, or send less text"
    return Problem(413, message, {b"x-abound-limit": b"%d" % ANSWER_BYTES})


def explain_refusal(body: bytes) -> None:
    """Raise Problem if a body could not be parsed because it is too large or too deep.

    This is called only for bodies that were refused, and inspects their beginning: a scan of all brackets of a large
    body would take longer than parsing it.
    """
    check_depth(body[:INSPECTED_BYTES])
    if len(body) > MAX_FEATURES:
        check_features(body)


def check_depth(body: bytes, limit: int = MAX_DEPTH) -> None:
    """Raise Problem if JSON is nested too deeply.

    Examples
    --------
    >>> check_depth(b'{"text": "[[[["}', limit=1)
    >>> check_depth(b'[[1]]', limit=1)
    Traceback (most recent call last):
    ...
    abound.server.http.problems.Problem: (413, 'the body must be nested at most 1 levels deep')
    """
    if body.count(b"[") + body.count(b"{") <= limit:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", body)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > limit:
            raise Problem(
                413, f"the body must be nested at most {limit} levels deep", {b"x-abound-limit": b"%d" % limit}
            )


def check_features(body: bytes, limit: int = MAX_FEATURES) -> None:
    """Raise Problem if a body has too many features."""
    if body.count(b":") > limit and b'"features"' in body and _STRING.sub(b"", body).count(b":") > limit + limit // 100:
        raise Problem(413, f"a row must have at most {limit:,} features", {b"x-abound-limit": b"%d" % limit})
