"""Endpoints about the server itself."""

import asyncio
from functools import cache

import msgspec
from msgspec import UNSET

from abound.server.http.bodies import About, ModelAsk, Nothing, State
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.metrics import TEXT, exposition
from abound.server.http.openapi import openapi
from abound.server.http.problems import busy
from abound.server.http.served import Served

MOST_HASHINGS = 5  # of a state that changes meanwhile
HASHED_AT_ONCE = 32 << 20  # bytes of a model that is then hashed while nobody may learn or rank: it takes a moment


async def model(call: Call[ModelAsk]) -> About:
    """Say what is served; figures, hash and sequence are of one state."""
    served = call.served
    if not call.ask.hash:
        return _described(served, None)
    for _ in range(MOST_HASHINGS):
        found = await served.hash_and_sequence()
        with served.replica.reading() as now:
            if found is not None and now == found[1]:
                return _described(served, found[0])
    if served.replica.tagger.nbytes > HASHED_AT_ONCE:
        raise busy(503, "records came again and again while the state was hashed; ask when nothing is learnt")
    return await asyncio.to_thread(_hashed, served)


def _hashed(served: Served) -> About:
    with served.replica.reading():
        return _described(served, served.replica.state_hash())


def _described(served: Served, state_hash: str | None) -> About:
    replica = served.replica
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
            closed=served.closed,
            version=served.version,
            bands=tagger.bands is not None,
            learns_wrong=tagger.ranker.learns_wrong,
            state_hash=UNSET if state_hash is None else state_hash,
        )


def health(call: Call[Nothing]) -> State:
    """Say that the process lives, and that its replica is whole; if not, only a restart helps.

    The model's lock is not taken: who waits for it is alive.
    """
    call.served.replica.check_whole()
    return State("ok", call.served.replica.sequence)


def ready(call: Call[Nothing]) -> State:
    """Say whether requests should come here: not while the server drains, is broken, or cannot reach who writes.

    A server that can rank but not learn is ready: no other process of its home could learn either, and without it
    nobody could rank. It says so in `status` and `detail`.
    """
    call.served.replica.check_whole()
    if call.served.draining:
        raise busy(503, "the server is about to stop")
    call.served.journalled.check()
    refusal, sequence = call.served.refusal, call.served.replica.sequence
    return State("ready", sequence) if refusal is None else State("ranks only", sequence, refusal)


async def metrics(call: Call[Nothing]) -> bytes:
    """Return the figures of all workers."""
    tagger = call.served.replica.tagger
    figures = {"rows": tagger.n_rows, "labels": tagger.n_labels, "features": tagger.n_features, "bytes": tagger.nbytes}
    return exposition(await call.served.facts(), {name: float(value) for name, value in figures.items()})


def document(call: Call[Nothing]) -> bytes:
    """Return the OpenAPI document."""
    return _document(call.endpoints, call.served.version)


@cache
def _document(endpoints: tuple[Endpoint, ...], version: str) -> bytes:
    return msgspec.json.encode(openapi(endpoints, version))


ENDPOINTS = (
    Endpoint("GET", "/v1/model", model, ModelAsk, About, "Say what is served"),
    Endpoint("GET", "/healthz", health, Nothing, State, "Say that the process lives", Scope.OPEN, errors=(503,)),
    Endpoint(
        "GET", "/readyz", ready, Nothing, State, "Say whether requests should come here", Scope.OPEN, errors=(503,)
    ),
    Endpoint("GET", "/metrics", metrics, Nothing, bytes, "Figures for Prometheus", media_type=TEXT),
    Endpoint("GET", "/openapi.json", document, Nothing, bytes, "This document", Scope.OPEN),
)
