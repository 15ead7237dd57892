"""Endpoints about the server itself."""

import asyncio
from functools import cache

import msgspec
from msgspec import UNSET

from abound.server.http.bodies import About, ModelRequest, NoParameters, State
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.limits import EXPLAIN_BYTES
from abound.server.http.metrics import TEXT, Measured, exposition
from abound.server.http.openapi import openapi
from abound.server.http.problems import busy
from abound.server.http.service import Service
from abound.server.listing import iso_time

MAX_HASHINGS = 5  # attempts to hash a state that changes meanwhile
HASHED_AT_ONCE = 32 << 20  # bytes of a model that is then hashed under the lock: it takes a moment


async def model(call: Call[ModelRequest]) -> About:
    """Describe the served model; figures, hash and sequence are of one state."""
    service = call.service
    if not call.request.hash:
        return _describe(service, None)
    for _ in range(MAX_HASHINGS):
        hashed = await service.hash_and_sequence()
        with service.replica.reading() as now:
            if hashed is not None and now == hashed[1]:
                return _describe(service, hashed[0])
    if service.replica.tagger.nbytes > HASHED_AT_ONCE:
        raise busy(503, "the state changed repeatedly while it was hashed; try again when nothing is being learned")
    return await asyncio.to_thread(_describe_with_hash, service)


def _describe_with_hash(service: Service) -> About:
    with service.replica.reading():
        return _describe(service, service.replica.state_hash())


def _describe(service: Service, state_hash: str | None) -> About:
    replica = service.replica
    with replica.reading() as sequence:
        tagger, fitted = replica.tagger, service.fitted()
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
            name=service.name,
            explained_bytes=EXPLAIN_BYTES,
            similar=tagger.shows_similar,
            fitted=UNSET if fitted is None else iso_time(round(fitted * 1e6)),
            last_correction=iso_time(replica.history.last_time) if replica.history.last_time else UNSET,
            examples=list(tagger.examples or replica.history.texts),
            fields=UNSET if tagger.encoder.fields is None else list(tagger.encoder.fields),
            state_hash=UNSET if state_hash is None else state_hash,
        )


def health(call: Call[NoParameters]) -> State:
    """Report that the process is alive and its replica usable; a replica that failed is loaded again or replaced.

    This does not take the model's lock: a process that waits for it is alive.
    """
    call.service.replica.check_usable()
    return State("ok", call.service.replica.sequence)


def ready(call: Call[NoParameters]) -> State:
    """Report whether requests should be sent here: not while it drains, is unusable, or a process does not answer.

    A server that can rank but not learn is ready, because no other process of its home could learn either. `status` and
    `detail` say so.
    """
    call.service.replica.check_usable()
    if call.service.draining:
        raise busy(503, "the server is shutting down")
    call.service.journal_client.check_ready()
    refusal, sequence = call.service.refusal, call.service.replica.sequence
    return State("ready", sequence) if refusal is None else State("ranks only", sequence, refusal)


def started(call: Call[NoParameters]) -> State:
    """Report that the start is complete; until then, `Gate` answers with its progress."""
    return State("started", call.service.replica.sequence)


async def metrics(call: Call[NoParameters]) -> bytes:
    """Return the metrics of all workers."""
    tagger = call.service.replica.tagger
    figures = {"rows": tagger.n_rows, "labels": tagger.n_labels, "features": tagger.n_features, "bytes": tagger.nbytes}
    return exposition([Measured(None, await call.service.facts(), figures)])


def document(call: Call[NoParameters]) -> bytes:
    """Return the OpenAPI document."""
    return _document(call.endpoints, call.service.version)


@cache
def _document(endpoints: tuple[Endpoint, ...], version: str) -> bytes:
    return msgspec.json.encode(openapi(endpoints, version))


ENDPOINTS = (
    Endpoint("GET", "/v1/model", model, ModelRequest, About, "Describe the served model"),
    Endpoint(
        "GET", "/healthz", health, NoParameters, State, "Report that the server is alive", Scope.OPEN, errors=(503,)
    ),
    Endpoint(
        "GET", "/readyz", ready, NoParameters, State, "Report whether the server is ready", Scope.OPEN, errors=(503,)
    ),
    Endpoint(
        "GET",
        "/startupz",
        started,
        NoParameters,
        State,
        "Report whether the server has started",
        Scope.OPEN,
        errors=(503,),
    ),
    Endpoint("GET", "/metrics", metrics, NoParameters, bytes, "Metrics for Prometheus", media_type=TEXT),
    Endpoint("GET", "/openapi.json", document, NoParameters, bytes, "This document", Scope.OPEN),
)
