"""Endpoints as rows of a table, which defines routing, limits, scopes and the OpenAPI document."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from abound.server.http.allowances import Allowance, Learning
from abound.server.http.limits import LEARN_BYTES
from abound.server.http.service import Service
from abound.server.opinions import Heard
from abound.store.journal import Origin, Receipt
from abound.store.journal.records import Control, Record
from abound.texts import Text, joined

JSONL = b"application/x-ndjson"  # one object per line
RequestT = TypeVar("RequestT")


class Scope(IntEnum):
    """The scope of a key; each scope includes those before it."""

    OPEN = 0
    READ = 1
    LEARN = 2
    ADMIN = 3


class Encoded(NamedTuple):
    """An answer that was encoded in pieces, because it may be large; `Endpoint.response` is its type.

    `media_type` is that of the endpoint unless it is given.
    """

    sequence: int
    body: bytes
    media_type: bytes | None = None


class Caller(NamedTuple):
    """Who sends a request and what it may do.

    `who` is the name of a key or of a person, None if it is not known. `allowance` has the limits of the key, None if
    there are none.
    """

    scope: Scope
    who: str | None = None
    allowance: Allowance | None = None


ANYONE = Caller(Scope.ADMIN)


class Call(Generic[RequestT]):
    """A validated request: the service, the parsed request, the idempotency key, the caller and its program."""

    __slots__ = ("_heard", "attached", "base", "caller", "endpoints", "key", "query", "request", "service", "source")

    def __init__(
        self,
        service: Service,
        request: RequestT,
        key: str | None,
        endpoints: "tuple[Endpoint, ...]",
        caller: Caller = ANYONE,
        source: str = "api",
        query: msgspec.Struct | None = None,
        attached: bytes = b"",
        base: str = "",
    ) -> None:
        self.service = service
        self.request = request
        self.key = key
        self.endpoints = endpoints
        self.caller = caller
        self.source = source
        self.query: Any = query  # of an endpoint with a body and a query
        self.attached = attached  # what follows the JSON of the body
        self.base = base  # the address of the server as the client knows it
        self._heard: Heard = {}

    @property
    def origin(self) -> Origin:
        """Who sends a record, and from where."""
        return Origin(self.caller.who, self.source)

    async def hear(self, texts: Sequence[Text]) -> None:
        """Ask the service for a second opinion on texts, if there is one; `state` then ranks with its scores."""
        if self.service.opinions is not None:
            self._heard = await self.service.opinions.hear(self.service.replica, texts)

    def state(self, texts: Sequence[Text]) -> AbstractContextManager[int]:
        """Return a context manager that locks the state to rank texts, and gives its sequence; see `hear`."""
        replica = self.service.replica
        if not self._heard:
            return replica.reading()
        return replica.hearing({key: self._heard[key] for key in map(joined, texts) if key in self._heard})

    def voters(self, text: Text) -> list[str]:
        """Return who votes on a text."""
        voters = ["words"]
        if self.service.replica.tagger.blends:
            voters.append("embeddings")
        if self._heard and joined(text) in self._heard:
            voters.append("second opinion")
        return voters

    def learning(self, n: int = 1) -> AbstractContextManager[Learning | None]:
        """Count records against the limit of the caller's key while they are written."""
        allowance = self.caller.allowance
        return nullcontext() if allowance is None else allowance.learning(n)

    async def learn(self, record: Record, key: str | None) -> Receipt:
        """Write a record within the caller's limits, and wait until this process has applied it."""
        with self.learning():
            return await self.service.learn(record, key, self.origin)

    async def change(self, record: Control, key: str | None) -> Receipt:
        """Undo or forget records within the caller's limits, and wait until this process ranks without them."""
        with self.learning():
            return await self.service.change(record, key, self.origin)


@dataclass(frozen=True)
class Endpoint:
    """A method and a path, the scope that it needs, and the function that answers.

    Attributes
    ----------
    handle : callable
        Takes a Call and returns the answer or, if it has to wait, a coroutine. It runs in the event loop, so work that
        takes longer than a ranking is split into pieces.
    request, response : type
        Structs; the request is read from the body, or from the query of a GET or DELETE. A response of type bytes is
        sent unchanged, as `media_type`.
    query : type, optional
        A struct that is read from the query if the request has a body, too; see `Call.query`.
    form : bool
        Whether the body is a form, as HTML sends it, instead of JSON.
    attaches : bool
        Whether bytes may follow the JSON of the body, as in KServe's protocol; see `Call.attached`.
    status : int
        The status of an answer; 204 has no body.
    shared : bool
        Whether web pages of the origins that `Settings.origins` names may read the answer.
    invalid : int
        The status of a request that does not fit the types.
    limit : int
        Maximum bytes of the body.
    media_types : tuple of str
        Media types of a body that is a file; the request is then a `FileRequest`. Empty if the body is JSON.
    other_media_types : tuple of str
        Media types of an answer besides `media_type`, for an `Encoded` answer that names its own.
    """

    method: str
    path: str
    handle: Callable[[Call[Any]], Any]
    request: Any  # a type that msgspec decodes
    response: type
    summary: str
    scope: Scope = Scope.READ
    limit: int = LEARN_BYTES
    keyed: bool = False
    query: type[msgspec.Struct] | None = None
    form: bool = False
    attaches: bool = False
    status: int = 200
    shared: bool = False
    invalid: int = 422
    media_type: str = "application/json"
    media_types: tuple[str, ...] = ()
    other_media_types: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    decoder: "msgspec.json.Decoder[Any]" = field(init=False, repr=False, compare=False)
    name: str = field(init=False)
    media_type_raw: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.method} {self.path}")
        object.__setattr__(self, "media_type_raw", self.media_type.encode())
        object.__setattr__(self, "decoder", msgspec.json.Decoder(self.request))

    @property
    def waits(self) -> bool:
        """Whether a request may wait for a sequence."""
        return self.path.startswith("/v1/")

    @property
    def has_body(self) -> bool:
        """Whether the request is in the body."""
        return self.method not in ("GET", "HEAD", "DELETE")
