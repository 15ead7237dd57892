"""Call the application of a home without a network."""

import asyncio
from contextlib import asynccontextmanager

import httpx

from abound.server import Home, Writer
from abound.server.http.app import App
from abound.server.http.service import LocalJournalClient, Service


@asynccontextmanager
async def client_of(home: Home, *, closed=False, authenticator=None, headers=None, origins=()):
    with Writer(home, closed=closed, snapshot_every=None) as writer:
        app = App(Service(writer.replica, LocalJournalClient(writer)), authenticator, origins=origins)
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            client.app, client.writer = app, writer
            yield client


def talk(home: Home, conversation, **options):
    """Run a coroutine function that takes a client."""

    async def run():
        async with client_of(home, **options) as client:
            return await conversation(client)

    return asyncio.run(run())
