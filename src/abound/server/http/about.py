"""Endpoints about the server itself."""

import asyncio
from functools import cache

import msgspec
from msgspec import UNSET

from abound.server.http.bodies import About, ModelRequest, NoParameters, State
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.metrics import TEXT, exposition
from abound.server.http.openapi import openapi
from abound.server.http.problems import busy
from abound.server.http.service import Service

MAX_HASHINGS = 5  # of a state that changes meanwhile
HASHED_AT_ONCE = 32 << 20  # bytes of a model that is then hashed while nobody may learn or rank: it takes a moment


async def model(call: Call[ModelRequest]) -> About:
    """Say what is served; figures, hash and sequence are of one state."""
    service = call.service
    if not call.request.hash:
        return _described(service, None)
    for _ in range(MAX_HASHINGS):
        found = await service.hash_and_sequence()
        with service.replica.reading() as now:
            if found is not None and now == found[1]:
                return _described(service, found[0])
    if service.replica.tagger.nbytes > HASHED_AT_ONCE:
        raise busy(503, "records came again and again while the state was hashed; ask when nothing is learnt")
    return await asyncio.to_thread(_hashed, service)


def _hashed(service: Service) -> About:
    with service.replica.reading():
        return _described(service, service.replica.state_hash())


def _described(service: Service, state_hash: str | None) -> About:
    replica = service.replica
    with replica.reading() as sequence:
        tagger = replica.tagger
        return About(
            kind=tagger.kind,
            ranker=tagger.ranker.kind,
            rows=tagger.n_rows,
            labels=tagger.n_labels - replica.labels.n_hidden,
            features=tagger.n_features,
            edges=tagger.n_edges,
            bytes=tagger.nbytes,
            sequence=sequence,
            closed=service.closed,
            version=service.version,
            bands=tagger.bands is not None,
            learns_wrong=tagger.ranker.learns_wrong,
            state_hash=UNSET if state_hash is None else state_hash,
        )


def health(call: Call[NoParameters]) -> State:
    """Say that the process lives, and that its replica is whole; if not, only a restart helps.

    The model's lock is not taken: who waits for it is alive.
    """
    call.service.replica.check_usable()
    return State("ok", call.service.replica.sequence)


def ready(call: Call[NoParameters]) -> State:
    """Say whether requests should come here: not while the server drains, is broken, or cannot reach who writes.

    A server that can rank but not learn is ready: no other process of its home could learn either, and without it
    nobody could rank. It says so in `status` and `detail`.
    """
    call.service.replica.check_usable()
    if call.service.draining:
        raise busy(503, "the server is about to stop")
    call.service.journal_client.check()
    refusal, sequence = call.service.refusal, call.service.replica.sequence
    return State("ready", sequence) if refusal is None else State("ranks only", sequence, refusal)


async def metrics(call: Call[NoParameters]) -> bytes:
    """Return the figures of all workers."""
    tagger = call.service.replica.tagger
    figures = {"rows": tagger.n_rows, "labels": tagger.n_labels, "features": tagger.n_features, "bytes": tagger.nbytes}
    return exposition(await call.service.facts(), {name: float(value) for name, value in figures.items()})


def document(call: Call[NoParameters]) -> bytes:
    """Return the OpenAPI document."""
    return _document(call.endpoints, call.service.version)


@cache
def _document(endpoints: tuple[Endpoint, ...], version: str) -> bytes:
    return msgspec.json.encode(openapi(endpoints, version))


ENDPOINTS = (
    Endpoint("GET", "/v1/model", model, ModelRequest, About, "Say what is served"),
    Endpoint("GET", "/healthz", health, NoParameters, State, "Say that the process lives", Scope.OPEN, errors=(503,)),
    Endpoint(
        "GET", "/readyz", ready, NoParameters, State, "Say whether requests should come here", Scope.OPEN, errors=(503,)
    ),
    Endpoint("GET", "/metrics", metrics, NoParameters, bytes, "Figures for Prometheus", media_type=TEXT),
    Endpoint("GET", "/openapi.json", document, NoParameters, bytes, "This document", Scope.OPEN),
)
