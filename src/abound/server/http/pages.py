"""The page: static files, sent with a content security policy that allows nothing else."""

import asyncio
import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from importlib.resources import files
from typing import Any, NamedTuple

from abound.server.http.asgi import ENDPOINT
from abound.server.http.problems import MEDIA_TYPE, Header, Problem
from abound.server.http.reference import reference_page

REFERENCE = "/docs"
TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
# Scripts, styles and images come from this server only, nothing is inline, and no string becomes markup.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SAFE: tuple[Header, ...] = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
ASGIScope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _File(NamedTuple):
    body: bytes
    packed: bytes
    headers: tuple[Header, ...]
    tag: bytes


class Pages:
    """Serve the page's files, which are read once, and answer 404 for everything else.

    Parameters
    ----------
    document : callable, optional
        Returns the OpenAPI document that `/docs` shows. It is called at the first request of that page.
    """

    def __init__(self, document: Callable[[], Mapping[str, Any]] | None = None) -> None:
        self._document = document
        self._files: dict[str, _File] = {}
        for file in files("abound.server").joinpath("page").iterdir():
            media_type = TYPES.get("." + file.name.rpartition(".")[2])
            if media_type is not None:
                path = "/" if file.name == "index.html" else f"/static/{file.name}"
                self._files[path] = _read(file.read_bytes(), media_type)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:  # noqa: ARG002  ASGI's form
        """Answer one request."""
        file = await self._find(scope["path"])
        body: bytes
        if file is None or scope["method"] not in ("GET", "HEAD"):
            problem = Problem(404, "there is no such path; /openapi.json lists all paths")
            if file is not None:
                problem = Problem(405, "the method must be one of GET, HEAD", {b"allow": b"GET, HEAD"})
            status, body, headers = problem.status, problem.body(), [*problem.headers, (b"content-type", MEDIA_TYPE)]
        else:
            scope[ENDPOINT] = f"GET {scope['path']}"
            request_headers: dict[bytes, bytes] = dict(scope["headers"])
            status, body, headers = 200, file.body, list(file.headers)
            if file.tag in request_headers.get(b"if-none-match", b""):
                status, body = 304, b""
            elif b"gzip" in request_headers.get(b"accept-encoding", b""):
                body = file.packed
                headers.append((b"content-encoding", b"gzip"))
        if status != 304:
            headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": [*headers, *SAFE]})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _find(self, path: str) -> _File | None:
        if path == REFERENCE and self._document is not None and path not in self._files:
            # It takes 0.1 s, in which other requests are answered.
            self._files[path] = await asyncio.to_thread(_read_reference, self._document)
        return self._files.get(path)


def _read_reference(document: Callable[[], Mapping[str, Any]]) -> _File:
    return _read(reference_page(document()), TYPES[".html"])


def _read(body: bytes, media_type: bytes) -> _File:
    tag = b'"%s"' % hashlib.sha256(body).hexdigest()[:20].encode()
    headers = (
        (b"content-type", media_type),
        (b"etag", tag),
        (b"cache-control", b"no-cache"),
        (b"vary", b"accept-encoding"),
    )
    return _File(body, gzip.compress(body, mtime=0), headers, tag)
