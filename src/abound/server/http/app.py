"""The application: it routes requests, checks limits and scopes, parses, waits, answers and counts."""

import logging
import os
import time
from collections.abc import Iterable, Mapping
from types import CoroutineType
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl

import msgspec

from abound.server.http import (
    about,
    annif,
    files,
    introspection,
    kserve,
    label_studio,
    labels,
    queues,
    ranking,
    reconciling,
    records,
    refitting,
    teaching,
)
from abound.server.http.allowances import KeyRefused
from abound.server.http.asgi import CALLER, ENDPOINT, REASON, ASGIApp, ASGIScope, Receive, Send
from abound.server.http.bodies import FileRequest
from abound.server.http.connections import Address
from abound.server.http.endpoints import ANYONE, Call, Caller, Encoded, Endpoint, Scope
from abound.server.http.limits import explain_refusal, kept_bytes, read_body
from abound.server.http.openapi import openapi
from abound.server.http.pages import Pages
from abound.server.http.problems import MEDIA_TYPE, Header, Problem, problem_of, unknown_model
from abound.server.http.service import Service

LOG = logging.getLogger(__name__)
MAX_QUERY = 8192  # bytes
FORM = b"application/x-www-form-urlencoded"
NAMED = (
    "/v1/projects/",
    "/v2/models/",
    "/reconcile/",
    "/label-studio/",
)  # after which a path names a model, in the interfaces of other programs
SOURCES = {name.encode(): name for name in ("page", "client", "command line")}  # programs that name themselves
SEQUENCE = "abound.sequence"  # key of a request's scope: the replica's sequence before the answer is computed

# A module adds its endpoints here.
ENDPOINTS: tuple[Endpoint, ...] = (
    *ranking.ENDPOINTS,
    *teaching.ENDPOINTS,
    *refitting.ENDPOINTS,
    *labels.ENDPOINTS,
    *records.ENDPOINTS,
    *queues.ENDPOINTS,
    *about.ENDPOINTS,
    *introspection.ENDPOINTS,
    *files.ENDPOINTS,
    *annif.ENDPOINTS,
    *kserve.ENDPOINTS,
    *reconciling.ENDPOINTS,
    *label_studio.ENDPOINTS,
)


class Authenticator(Protocol):
    """Decides what a request may do."""

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> Caller:
        """Return who sends a request; raise Problem if it does not have the needed scope."""


class App:
    """The ASGI application of one process.

    Paths of the table are answered here, with little overhead: starlette's router and requests would take as long as a
    ranking. Everything else goes to `pages`, which may be any ASGI application.

    Parameters
    ----------
    service : Service
    authenticator : Authenticator, optional
        None accepts every request.
    endpoints : iterable of Endpoint
    pages : ASGI application, optional
    origins : iterable of str
        Origins whose web pages may read the answers of endpoints that are `shared`.
    """

    def __init__(
        self,
        service: Service,
        authenticator: Authenticator | None = None,
        endpoints: Iterable[Endpoint] = ENDPOINTS,
        pages: ASGIApp | None = None,
        origins: Iterable[str] = (),
    ) -> None:
        self.service = service
        self.endpoints = tuple(endpoints)
        self._authenticator = authenticator
        self._pages = pages
        self._origins = frozenset(origin.encode() for origin in origins)
        self._table: dict[str, dict[str, Endpoint]] = {}
        for endpoint in self.endpoints:
            self._table.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        self._shared = frozenset(endpoint.name for endpoint in self.endpoints if endpoint.shared)
        self.under_way = 0  # requests that are not answered yet
        self.busy: set[Address] = set()  # peers of those that were received completely
        self.last_request = 0.0
        self._worker = b"%d" % os.getpid()
        self._journal = service.token.encode()
        self._encode = msgspec.json.Encoder().encode

    def use(self, busy: set[Address]) -> None:
        """Note the peers of requests that are being answered in a set."""
        self.busy = busy

    def drain(self) -> None:
        """Announce the end of each connection with its next answer."""
        self.service.draining = True

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        methods, place = self._table.get(scope["path"]), None
        if methods is None and (place := place_of(scope["path"])) is not None:
            methods = self._table.get(place.path)
        if methods is None and self._pages is not None:
            await self._pages(scope, receive, send)
            return
        headers: list[Header] = []
        answer: Any = None
        scope[SEQUENCE] = self.service.replica.sequence
        started = self.last_request = time.monotonic()
        self.under_way += 1
        name, invalid = "unknown", 422
        try:
            if place is not None and place.model != self.service.name:
                raise unknown_model(place.model)
            endpoint = _choose_endpoint(methods, scope)
            invalid = endpoint.invalid
            name = scope[ENDPOINT] = endpoint.name
            answer = await self._answer(endpoint, scope, receive)
            status, media_type = endpoint.status, endpoint.media_type_raw
            if isinstance(answer, Encoded):
                body, media_type = answer.body, answer.media_type or media_type
            else:
                body = answer if isinstance(answer, bytes) else self._encode(answer)
            if status == 204:
                body = b""
        except Exception as error:
            problem = self._problem_of(error, scope)
            if problem.status == 422:
                problem.status = invalid
            status, media_type, body = problem.status, MEDIA_TYPE, problem.body(scope["path"].startswith("/v2"))
            headers += problem.headers
        finally:
            self.under_way -= 1
            self.busy.discard(scope["client"])
        self.service.counts.add(name, status, time.monotonic() - started)
        headers += (
            (b"content-type", media_type),
            (b"content-length", b"%d" % len(body)),
            (b"x-abound-sequence", b"%d" % self._sequence_of(answer, scope[SEQUENCE])),
            (b"x-abound-journal", self._journal),
            (b"x-abound-worker", self._worker),
        )
        if name in self._shared:
            headers += self._sharing(scope)
        if media_type.startswith(b"text/html"):
            headers.append((b"content-security-policy", b"default-src 'none'"))
        if self.service.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _problem_of(self, error: Exception, scope: ASGIScope) -> Problem:
        """Return the problem that answers a request, and note who was refused and why."""
        problem = problem_of(error)
        if problem is None:
            LOG.exception("%s %s failed", scope["method"], scope["path"])
            problem = Problem(500, "an unexpected error occurred; see the server's log")
        if isinstance(problem, KeyRefused):
            self.service.counts.refuse(problem.reason)
            scope[REASON] = problem.reason
        scope.setdefault(CALLER, problem.who)
        return problem

    def _sharing(self, scope: ASGIScope) -> list[Header]:
        """Return the headers that let a web page of another origin read an answer, if it may."""
        origin = dict(scope["headers"]).get(b"origin")
        allowed = [(b"access-control-allow-origin", origin)] if origin in self._origins else []
        return [(b"vary", b"Origin"), *allowed]

    def _sequence_of(self, answer: object, before: int) -> int:
        """Return the sequence of an answer; if it has none, that before it was computed, which it includes."""
        sequence = getattr(answer, "sequence", None)
        return min(self.service.replica.sequence, sequence) if isinstance(sequence, int) else before

    async def _answer(self, endpoint: Endpoint, scope: ASGIScope, receive: Receive) -> Any:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        caller = ANYONE if self._authenticator is None else self._authenticator.check(headers, endpoint.scope)
        scope[CALLER] = caller.who
        if caller.allowance is None:
            return await self._answer_to(caller, endpoint, scope, headers, receive)
        with caller.allowance.request(kept_bytes(headers, endpoint.limit) if endpoint.has_body else 0):
            return await self._answer_to(caller, endpoint, scope, headers, receive)

    async def _answer_to(
        self, caller: Caller, endpoint: Endpoint, scope: ASGIScope, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Any:
        if endpoint.media_types:
            return await self._answer_file(endpoint, scope, headers, receive, caller)
        query, attached = None, b""
        if endpoint.has_body:
            kind, wanted = headers.get(b"content-type", b""), FORM if endpoint.form else b"application/json"
            header = headers.get(b"inference-header-content-length") if endpoint.attaches else None
            if not kind.startswith(wanted) and header is None:
                raise Problem(415, f"the body must be sent as {wanted.decode()}")
            body = await read_body(receive, headers.get(b"content-length"), endpoint.limit)
            if header is not None:
                length = _whole(header, "Inference-Header-Content-Length must be the bytes of the JSON, a whole number")
                body, attached = body[:length], body[length:]
            request = _from_form(endpoint, body) if endpoint.form else _from_json(endpoint, body)
            if endpoint.query is not None:
                query = _from_query(endpoint.query, scope["query_string"])
        else:
            request = _from_query(endpoint.request, scope["query_string"])
        await self._wait(scope, headers)
        key = _key(headers) if endpoint.keyed else None
        source = SOURCES.get(headers.get(b"x-abound-source", b""), "api")
        answer = endpoint.handle(
            Call(self.service, request, key, self.endpoints, caller, source, query, attached, _base(headers))
        )
        return await answer if isinstance(answer, CoroutineType) else answer

    async def _answer_file(
        self, endpoint: Endpoint, scope: ASGIScope, headers: Mapping[bytes, bytes], receive: Receive, caller: Caller
    ) -> Any:
        media_type, charset = _content_type(headers.get(b"content-type", b""))
        if media_type not in endpoint.media_types:
            raise Problem(415, f"the file must be sent as one of {', '.join(endpoint.media_types)}")
        async with self.service.files():  # files are large, so that few of them may arrive at a time
            body = await read_body(receive, headers.get(b"content-length"), endpoint.limit)
            await self._wait(scope, headers)
            request = FileRequest(media_type, charset, body)
            return await endpoint.handle(Call(self.service, request, None, self.endpoints, caller))

    async def _wait(self, scope: ASGIScope, headers: Mapping[bytes, bytes]) -> None:
        """Wait for the record of this journal that a request has seen; it has been received completely."""
        self.busy.add(scope["client"])
        seen = headers.get(b"x-abound-sequence")
        if seen is not None:
            sequence = _whole(seen, "X-Abound-Sequence must be the sequence of an earlier answer, a whole number")
            if headers.get(b"x-abound-journal", self._journal) == self._journal:
                await self.service.reach(sequence)
            scope[SEQUENCE] = self.service.replica.sequence


def make_app(service: Service, authenticator: Authenticator | None, origins: Iterable[str] = ()) -> App:
    """Return the application with all endpoints and the page; see `App`."""
    pages = Pages(lambda: openapi(ENDPOINTS, service.version))
    return App(service, authenticator, pages=pages, origins=origins)


def _choose_endpoint(methods: Mapping[str, Endpoint] | None, scope: ASGIScope) -> Endpoint:
    if methods is None:
        raise Problem(404, "there is no such path; /openapi.json lists all paths")
    method = scope["method"]
    endpoint = methods.get("GET" if method == "HEAD" else method)
    if endpoint is None:
        allowed = ", ".join(sorted(methods))
        raise Problem(405, f"the method must be one of {allowed}", {b"allow": allowed.encode()})
    return endpoint


class Place(NamedTuple):
    """The model of a path, and the path of an endpoint with `{model}` in its place."""

    model: str
    path: str


def place_of(path: str) -> Place | None:
    """Return the place of a path in which a model is named; None for others.

    Examples
    --------
    >>> place_of("/v1/projects/subjects/suggest")
    Place(model='subjects', path='/v1/projects/{model}/suggest')
    """
    for prefix in NAMED:
        if path.startswith(prefix):
            name, slash, tail = path[len(prefix) :].partition("/")
            return Place(name, f"{prefix}{{model}}{slash}{tail}")
    return None


def _from_json(endpoint: Endpoint, body: bytes) -> Any:
    try:
        return endpoint.decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        explain_refusal(body)
        raise


def _from_form(endpoint: Endpoint, body: bytes) -> Any:
    try:
        fields = dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100))
    except ValueError as error:  # includes UnicodeDecodeError
        raise Problem(400, f"the form cannot be read: {error}") from None
    return msgspec.convert(fields, endpoint.request, strict=False)


def _from_query(kind: type[msgspec.Struct], raw: bytes) -> msgspec.Struct:
    if len(raw) > MAX_QUERY:
        raise Problem(414, f"the query must have at most {MAX_QUERY:,} bytes")
    try:
        parameters = dict(parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20))
    except ValueError as error:  # includes UnicodeDecodeError
        raise Problem(400, f"the query cannot be read: {error}") from None
    return msgspec.convert(parameters, kind, strict=False)


def _content_type(raw: bytes) -> tuple[str, str | None]:
    """Return the media type and the charset of a header.

    Examples
    --------
    >>> _content_type(b'Text/HTML; charset="UTF-8"')
    ('text/html', 'UTF-8')
    """
    media_type, *parameters = raw.decode("latin-1").split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return media_type.strip().lower(), value.strip().strip('"') or None
    return media_type.strip().lower(), None


def _base(headers: Mapping[bytes, bytes]) -> str:
    """Return the address of the server as the client knows it."""
    scheme = "https" if headers.get(b"x-forwarded-proto") == b"https" else "http"
    return f"{scheme}://{headers.get(b'host', b'').decode('latin-1')}"


def _whole(raw: bytes, message: str) -> int:
    if not raw.isdigit() or len(raw) > 18:
        raise Problem(400, message)
    return int(raw)


def _key(headers: Mapping[bytes, bytes]) -> str | None:
    raw = headers.get(b"idempotency-key")
    if raw is None:
        return None
    if not 1 <= len(raw) <= 200 or not raw.isascii():
        raise Problem(400, "Idempotency-Key must have 1 to 200 ASCII characters")
    return raw.decode("ascii")
