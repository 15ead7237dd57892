"""The application of a process with several models: it routes each request to its model."""

import html
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, ClassVar, TypeAlias

import msgspec

from abound.server.http import annif, kserve
from abound.server.http.allowances import KeyRefused
from abound.server.http.app import ENDPOINTS, Authenticator, place_of
from abound.server.http.asgi import CALLER, ENDPOINT, REASON, ASGIScope, Receive, Send
from abound.server.http.bodies import State
from abound.server.http.connections import Address
from abound.server.http.endpoints import Scope
from abound.server.http.hosted import Hosted
from abound.server.http.library import NAME, Library
from abound.server.http.limits import LEARN_BYTES, kept_bytes, read_body
from abound.server.http.metrics import TEXT, Counts, Facts, Measured, exposition
from abound.server.http.model_bodies import HostedModel, HostedModels
from abound.server.http.openapi import openapi_of_models
from abound.server.http.pages import REFERENCE, SAFE, Pages
from abound.server.http.problems import MEDIA_TYPE, Header, Problem, busy, problem_of
from abound.server.memory import private_bytes
from abound.version import __version__

LOG = logging.getLogger(__name__)
API = "/v1/models/"
PAGES = "/models/"
DETECT = "/v1/detect-language"
JSON = b"application/json"
_OPEN = frozenset(
    {"/healthz", "/readyz", "/startupz", "/openapi.json", "/v1/", "/v2", "/v2/health/live", "/v2/health/ready"}
)
Answer = tuple[int, bytes, bytes]  # status, media type, body
_About: TypeAlias = Callable[["ModelsApp", Mapping[bytes, bytes]], Awaitable[Answer]]


class ModelsApp:
    """The ASGI application of a library.

    `/v1/models/NAME/rank` is the path `/v1/rank` of a model, and `/models/NAME/` is its page, which has all paths of a
    server with one model below it.

    Parameters
    ----------
    library : Library
    authenticator : Authenticator
        For requests that change the library.
    """

    def __init__(self, library: Library, authenticator: Authenticator) -> None:
        self._library = library
        self._authenticator = authenticator
        self._pages = Pages(lambda: openapi_of_models(ENDPOINTS, __version__))
        self._version = __version__
        self.busy: set[Address] = set()
        self.under_way = 0
        self.last_request = 0.0
        self._worker = b"%d" % os.getpid()
        self._counts = Counts()
        self._document = msgspec.json.encode(openapi_of_models(ENDPOINTS, self._version))

    def use(self, busy: set[Address]) -> None:
        """Note the peers of requests in a set."""
        self.busy = self._library.busy = busy

    def drain(self) -> None:
        """Announce the end of each connection with its next answer."""
        self._library.drain()

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        self.last_request = time.monotonic()
        self.under_way += 1
        try:
            await self._route(scope, receive, send)
        finally:
            self.under_way -= 1

    async def _route(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        headers: list[Header] = []
        try:
            if path.startswith(API):
                name, slash, tail = path[len(API) :].partition("/")
                if slash:
                    async with self._library.using(name, dict(scope["headers"])) as app:
                        scope["path"] = "/v1/" + tail
                        await app(scope, receive, send)
                    return
                with self._counting_refusals():
                    answer = await self._about_one(name, scope)
            elif (place := place_of(path)) is not None:
                async with self._library.using(place.model, dict(scope["headers"])) as app:
                    await app(scope, receive, send)
                return
            elif path == DETECT:
                with self._counting_refusals():
                    answer = await self._detect(scope, receive)
            elif path.startswith(PAGES):
                name, slash, tail = path[len(PAGES) :].partition("/")
                if not slash:
                    self._library.get(name)
                    await _redirect(send, f"{PAGES}{name}/")
                    return
                if tail in ("", REFERENCE[1:]) or tail.startswith("static/"):
                    self._library.get(name)
                    scope["path"] = "/" + tail
                    await self._pages(scope, receive, send)
                    return
                async with self._library.using(name, dict(scope["headers"])) as app:
                    scope["path"] = "/" + tail
                    await app(scope, receive, send)
                return
            elif path == REFERENCE or path.startswith("/static/"):
                await self._pages(scope, receive, send)
                return
            else:
                with self._counting_refusals():
                    answer = await self._about_all(path, scope)
            status, media_type, body = answer
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                LOG.exception("%s %s failed", scope["method"], path)
                problem = Problem(500, "an unexpected error occurred; see the server's log")
            status, media_type, body = problem.status, MEDIA_TYPE, problem.body(path.startswith("/v2"))
            headers += problem.headers
            scope.setdefault(CALLER, problem.who)
            if isinstance(problem, KeyRefused):
                scope[REASON] = problem.reason
        headers += ((b"content-type", media_type), (b"content-length", b"%d" % len(body)))
        headers += ((b"x-abound-worker", self._worker), *SAFE)
        if self._library.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    # -- the library itself --------------------------------------------------------------------------

    @contextmanager
    def _counting_refusals(self) -> Iterator[None]:
        try:
            yield
        except KeyRefused as refused:
            self._counts.refuse(refused.reason)
            raise

    def _counted(self, headers: Mapping[bytes, bytes], n_bytes: int = 0) -> AbstractContextManager[None]:
        """Count a request about the library against the limits of its key, which may be that of a model."""
        for authenticator in (self._authenticator, *(hosted.authenticator for hosted in self._library)):
            with suppress(Problem):
                allowance = authenticator.check(headers, Scope.READ).allowance
                if allowance is not None:
                    return allowance.request(n_bytes)
        return nullcontext()

    async def _about_one(self, name: str, scope: ASGIScope) -> Answer:
        headers = dict(scope["headers"])
        method = _method(scope, "GET", "PUT", "DELETE")
        scope[ENDPOINT] = f"{method} {API}{{model}}"
        if method == "GET":
            hosted = self._library.get(name)
            scope[CALLER] = hosted.authenticator.check(headers, Scope.READ).who
            with self._counted(headers):
                return _json(200, _describe(hosted))
        scope[CALLER] = self._authenticator.check(headers, Scope.ADMIN).who
        with self._counted(headers):
            return await self._change(method, name)

    async def _change(self, method: str, name: str) -> Answer:
        if not NAME.fullmatch(name):
            raise Problem(422, "the name of a model must have 1 to 100 letters, digits, dots, hyphens or underscores")
        if method == "DELETE":
            await self._library.remove(name)
            return _json(200, {"removed": name})
        is_new = await self._library.put(name)
        return _json(201 if is_new else 200, _describe(self._library.get(name)))

    async def _about_all(self, path: str, scope: ASGIScope) -> Answer:
        headers = dict(scope["headers"])
        answer = self._ANSWERS.get(path)
        if answer is None:
            if any(endpoint.path == path for endpoint in ENDPOINTS):
                raise Problem(404, f"this server has several models; use {API}NAME{path.removeprefix('/v1')}")
            raise Problem(404, "there is no such path; /openapi.json lists all paths")
        scope[ENDPOINT] = f"{_method(scope, 'GET')} {path}"
        if path in _OPEN:
            return await answer(self, headers)
        with self._counted(headers):
            return await answer(self, headers)

    async def _list(self, headers: Mapping[bytes, bytes]) -> Answer:
        return _json(200, HostedModels([_describe(hosted) for hosted in self._readable(headers)], private_bytes()))

    async def _health(self, _: Mapping[bytes, bytes]) -> Answer:
        return _json(200, State("ok", 0))

    async def _ready(self, _: Mapping[bytes, bytes]) -> Answer:
        if self._library.draining:
            raise busy(503, "the server is shutting down")
        return _json(200, State("ready", 0))

    async def _started(self, _: Mapping[bytes, bytes]) -> Answer:
        return _json(200, State("started", 0))

    async def _metrics(self, headers: Mapping[bytes, bytes]) -> Answer:
        measured = []
        for hosted in self._readable(headers):
            service = hosted.service
            facts = Facts(0, 0, [], past=hosted.counts) if service is None else await service.facts()
            figures = {"open": float(service is not None), "private_bytes": float(hosted.cost)}
            measured.append(Measured(hosted.name, facts, figures))
        measured.append(Measured("", Facts(0, 0, [], past=self._counts), {}))  # requests about the library itself
        used = private_bytes()
        return 200, TEXT.encode(), exposition(measured, {} if used is None else {"private_bytes": float(used)})

    async def _openapi(self, _: Mapping[bytes, bytes]) -> Answer:
        return 200, JSON, self._document

    async def _projects(self, headers: Mapping[bytes, bytes]) -> Answer:
        return _json(200, annif.Projects(self._as_projects(headers)))

    async def _vocabularies(self, headers: Mapping[bytes, bytes]) -> Answer:
        return _json(200, annif.Vocabularies([project.vocab for project in self._as_projects(headers)]))

    def _as_projects(self, headers: Mapping[bytes, bytes]) -> list[annif.Project]:
        return [annif.project_of(hosted.name, hosted.service) for hosted in self._readable(headers)]

    async def _info(self, _: Mapping[bytes, bytes]) -> Answer:
        return _json(200, annif.api_info(self._version))

    async def _detect(self, scope: ASGIScope, receive: Receive) -> Answer:
        scope[ENDPOINT] = f"{_method(scope, 'POST')} {DETECT}"
        headers = dict(scope["headers"])
        if not self._readable(headers):
            raise Problem(401, "the languages of a text are detected for callers that may read a model")
        with self._counted(headers, kept_bytes(headers, LEARN_BYTES)):
            body = await read_body(receive, headers.get(b"content-length"), LEARN_BYTES)
            return _json(200, await annif.detected(msgspec.json.decode(body, type=annif.DetectRequest)))

    async def _server(self, _: Mapping[bytes, bytes]) -> Answer:
        return _json(200, kserve.server_metadata(self._version))

    async def _live(self, _: Mapping[bytes, bytes]) -> Answer:
        return _json(200, kserve.Live(live=True))

    async def _is_ready(self, headers: Mapping[bytes, bytes]) -> Answer:
        await self._ready(headers)
        return _json(200, kserve.Ready(ready=True))

    async def _index(self, headers: Mapping[bytes, bytes]) -> Answer:
        items = "".join(
            f'<li><a href="{PAGES[1:]}{name}/">{name}</a></li>'
            for name in (html.escape(hosted.name) for hosted in self._readable(headers))
        )
        body = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Models</title>'
            '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="static/style.css">'
            f"<main><h1>Models</h1><ul>{items}</ul>"
            + ("" if items else "<p>No model can be read without a key. Open models/NAME/ and enter its key.</p>")
            + "</main></html>"
        )
        return 200, b"text/html; charset=utf-8", body.encode()

    def _readable(self, headers: Mapping[bytes, bytes]) -> list[Hosted]:
        return [hosted for hosted in self._library if _may_read(hosted, headers)]

    _ANSWERS: ClassVar[dict[str, _About]] = {
        "/": _index,
        "/v1/models": _list,
        "/healthz": _health,
        "/readyz": _ready,
        "/startupz": _started,
        "/metrics": _metrics,
        "/openapi.json": _openapi,
        "/v1/": _info,
        "/v1/projects": _projects,
        "/v2": _server,
        "/v2/health/live": _live,
        "/v2/health/ready": _is_ready,
        "/v1/vocabs": _vocabularies,
    }


def _may_read(hosted: Hosted, headers: Mapping[bytes, bytes]) -> bool:
    try:
        hosted.authenticator.check(headers, Scope.READ)
    except Problem:
        return False
    return True


def _describe(hosted: Hosted) -> HostedModel:
    service = hosted.service
    if service is None:
        return HostedModel(hosted.name, "closed", hosted.cost)
    return HostedModel(hosted.name, "open", hosted.cost, service.replica.sequence, service.replica.tagger.n_labels)


def _method(scope: ASGIScope, *allowed: str) -> str:
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    if method not in allowed:
        names = ", ".join(allowed)
        raise Problem(405, f"the method must be one of {names}", {b"allow": names.encode()})
    return str(method)


def _json(status: int, body: Any) -> Answer:
    return status, JSON, msgspec.json.encode(body)


async def _redirect(send: Send, path: str) -> None:
    headers = [(b"location", path.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
