"""Endpoints about the server itself."""

import asyncio

from msgspec import UNSET

from abound.server.http.bodies import About, ModelAsk, Nothing, State
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.problems import busy


async def model(call: Call[ModelAsk]) -> About:
    """Say what is served."""
    served, replica = call.served, call.served.replica
    tagger, state_hash = replica.tagger, None
    with replica.reading():
        sequence = replica.sequence
    if call.ask.hash:
        state_hash, sequence = await asyncio.to_thread(replica.hash_and_sequence)
    with replica.reading():
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
    """Say that the process lives."""
    return State("ok", call.served.replica.sequence)


def ready(call: Call[Nothing]) -> State:
    """Say whether requests should come here: not while the server drains, or if its replica is broken."""
    with call.served.replica.reading():
        sequence = call.served.replica.sequence
    if call.served.draining:
        raise busy(503, "the server is about to stop")
    return State("ready", sequence)


ENDPOINTS = (
    Endpoint("GET", "/v1/model", model, ModelAsk, About, "Say what is served"),
    Endpoint("GET", "/healthz", health, Nothing, State, "Say that the process lives", Scope.OPEN),
    Endpoint(
        "GET", "/readyz", ready, Nothing, State, "Say whether requests should come here", Scope.OPEN, errors=(503,)
    ),
)
