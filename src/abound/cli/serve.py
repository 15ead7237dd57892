"""`abound serve`: rank and learn over HTTP."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from abound.cli.common import note

EPILOG = """\b
Example:
  abound serve subjects
  abound serve subjects --workers 4 --state /var/lib/subjects
  curl --json '{"text": "Growing roses in cold climates"}' http://127.0.0.1:8000/v1/rank
"""
NEEDED = ("granian", "msgspec", "prometheus_client", "starlette")  # what the extra brings


def serve(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model directory, or the directory in which one is served.")
    ],
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="DIR", help="Where journal and snapshots are kept; MODEL.served if not given."),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, max=256, help="Processes that rank.")] = 1,
    closed: Annotated[bool, typer.Option("--closed", help="Refuse labels that were not added before.")] = False,
    snapshot_every: Annotated[
        int | None,
        typer.Option("--snapshot-every", min=1, metavar="N", help="Records after which a snapshot is written."),
    ] = None,
    trust_proxy: Annotated[
        bool,
        typer.Option(
            "--trust-proxy",
            help="Without keys, answer what a proxy on this machine forwards; it must decide who may come in.",
        ),
    ] = False,
    client_connections: Annotated[
        int | None,
        typer.Option(
            "--client-connections",
            min=1,
            metavar="N",
            help="Connections of one address, such as a proxy's, above which its idle ones are closed.",
        ),
    ] = None,
) -> None:
    """Serve a model over HTTP: rank, learn every correction at once, and lose none."""
    import asyncio

    serving = load_server()
    home = serving.open_home(model, state)
    given = {"snapshot_every": snapshot_every, "client_connections": client_connections}
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = serving.Settings(str(home.path), host, port, workers, closed, trust_proxy=trust_proxy, **chosen)
    asyncio.run(serving.serve(settings, note))


def load_server() -> Any:
    """Import the server, or say which extra it needs."""
    try:
        with uninterrupted():
            from abound.server.http import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        raise ImportError("the server needs granian, msgspec and more: pip install 'abound[server]'") from None
    return serve


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Take Ctrl-C at the end only: a library in Rust that is interrupted while it is loaded panics."""
    if threading.current_thread() is not threading.main_thread():  # signals are none of its business
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
