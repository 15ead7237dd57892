"""Serve a home over HTTP until a signal comes."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from granian.constants import Interfaces
from granian.server.embed import Server

from abound.server.home import Home
from abound.server.http.app import App
from abound.server.http.served import InProcess, Served
from abound.server.writer import SNAPSHOT_EVERY, Writer
from abound.store.directory import MANIFEST
from abound.tagger import Tagger


@dataclass(frozen=True)
class Settings:
    """How a model is served."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    closed: bool = False
    snapshot_every: int | None = SNAPSHOT_EVERY


def open_home(model: str, state: str | None = None) -> Home:
    """Return the home of a model: the directory itself if it is one, or else one beside it, made when needed."""
    path = Path(model)
    if (path / "journal.sqlite").is_file():
        return Home(path)
    home = Path(state) if state is not None else path.with_name(path.name + ".served")
    if (home / "journal.sqlite").is_file() and any(home.glob(f"snapshots/*/{MANIFEST}")):
        return Home(home)
    return Home.create(home, Tagger.load(path))


async def serve(home: Home, settings: Settings, report: Callable[[str], None]) -> None:
    """Serve a home in this process until SIGTERM or SIGINT."""
    with Writer(home, closed=settings.closed, snapshot_every=settings.snapshot_every, report=report) as writer:
        served = Served(writer.replica, InProcess(writer))
        app = App(served)
        server = Server(app, address=settings.host, port=settings.port, interface=Interfaces.ASGINL, log_enabled=False)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        report(f"serving {home.path} on http://{settings.host}:{settings.port}")
        await server.serve()
