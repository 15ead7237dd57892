"""Serve a home over HTTP until a signal comes, in one process or in a writer and its workers."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from abound.server.home import SERVED_SUFFIX, Home
from abound.server.http.app import Authenticator, make_app
from abound.server.http.library import NAME, Library, models_of
from abound.server.http.listener import Drain, HttpServer
from abound.server.http.models import ModelsApp
from abound.server.http.service import LocalJournalClient, Service
from abound.server.http.service_manager import notify, restart_program
from abound.server.http.settings import (
    LibrarySettings,
    Settings,
    administrator_of,
    authenticator_of,
    observers_of,
    opinions_of,
)
from abound.server.http.signals import Signals
from abound.server.http.sockets import Listeners, open_listeners
from abound.server.http.starting import Gate, Opening, warm
from abound.server.http.supervisor import Supervisor
from abound.server.replay import Progress
from abound.server.sharing import DatabaseSharing, Sharing
from abound.server.turns import Threads
from abound.server.writer import Writer
from abound.store.directory import MANIFEST, is_home, no_model, read_manifest
from abound.store.places import open_place
from abound.tagger import Tagger
from abound.tagger.label_quality import read_quality

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

LOG = logging.getLogger(__name__)
DAY = 24 * 3600  # seconds
RESTART_SECONDS = 30.0  # for which clients of an open socket wait for the start, before they are told to retry


def home_of(model: str) -> Path:
    """Return the path of a model's home, which may not exist yet."""
    path = Path(model)
    return path if is_home(path) else path.with_name(path.name + SERVED_SUFFIX)


def open_home(model: str, state: str | None = None) -> Home:
    """Return the home of a model: the directory itself if it is a home, otherwise one beside it, created if needed."""
    path, home = Path(model), Path(state) if state is not None else home_of(model)
    if is_home(path):
        return Home(path)
    if is_home(home) and any(home.glob(f"snapshots/*/{MANIFEST}")):
        return Home(home)
    # Both before loading: a fit may replace the model meanwhile.
    model_hash, fitted = str(read_manifest(path)["state_hash"]), (path / MANIFEST).stat().st_mtime
    return Home.create(home, Tagger.load(path), origin=model_hash, fitted=fitted)


def join_home(model: str | None, state: str | None, settings: Settings, report: Callable[[str], None]) -> Home:
    """Return the home of this machine for the shared journal of the settings, created if needed; see `join`."""
    from abound.server.joining import join  # needs psycopg

    assert settings.journal is not None
    if model is None and state is None:
        raise ValueError("name the model, or the directory of this machine's copy with --state")
    path = home_of(model) if state is None and model is not None else Path(str(state))
    place = None if settings.snapshots is None else open_place(settings.snapshots)
    return join(path, settings.journal, model=None if model is None else Path(model), place=place, report=report)


def _sharing_of(settings: Settings) -> Sharing:
    if settings.journal is None:
        return Sharing()
    return DatabaseSharing(settings.journal, None if settings.snapshots is None else open_place(settings.snapshots))


def check_model(model: str, state: str | None = None) -> str:
    """Return the path of a model's home, which may not exist yet; UnknownFormat if there is no model."""
    if not is_home(model) and not (Path(model) / MANIFEST).is_file():
        raise no_model(model)
    return str(home_of(model)) if state is None or is_home(model) else state


def name_of(model: str) -> str:
    """Return the name of a model by its directory, or by that of its home."""
    return Path(model).resolve().name.removesuffix(SERVED_SUFFIX)


def _open_writer(
    settings: Settings, report: Callable[[str], None], progress: Progress | None = None, threads: Threads | None = None
) -> Writer:
    """Open the writer of a home, ready for requests."""
    quality = read_quality(settings.quality) if settings.quality is not None else []
    writer = Writer(
        Home(settings.home),
        closed=settings.closed,
        snapshot_every=settings.snapshot_every,
        undo_records=settings.undo_records,
        keep_seconds=None if settings.keep_days is None else settings.keep_days * DAY,
        sharing=_sharing_of(settings),
        report=report,
        progress=progress,
        threads=threads,
    )
    if threads is None:
        warm(writer.replica)
    else:
        writer.replica.prepare_search()
    n_unknown = len(quality) - (writer.replica.rate_labels(quality) if quality else 0)
    if n_unknown:
        report(f"{n_unknown:,} of {len(quality):,} labels of {settings.quality} are not known to the model")
    return writer


def check(settings: Settings | LibrarySettings) -> None:
    """Check what can be known before a server is started; raise ValueError or an error of the package."""
    if isinstance(settings, Settings):
        authenticator_of(settings)
        _sharing_of(settings)
        return
    administrator_of(settings)
    for path in settings.models.values():
        authenticator_of(replace(settings.each, home=str(home_of(path))), settings.folder)


def run(settings: Settings | LibrarySettings, report: Callable[[str], None]) -> None:
    """Serve a home or a library until SIGTERM or SIGINT.

    SIGUSR2 starts the program again in this process. The listening sockets stay open, so no connection is refused.

    Parameters
    ----------
    settings : Settings or LibrarySettings
    report : callable
        Called with a message when the server is ready. Other messages for the operator are logged.
    """
    each = settings if isinstance(settings, Settings) else settings.each
    if each.workers > 1 and not hasattr(socket, "AF_UNIX"):
        raise ValueError("several workers need a system whose processes can inherit sockets; use one worker here")
    listeners = open_listeners(each.host, each.port, each.workers)
    each = replace(each, host=listeners.host, port=listeners.port)
    restarts = False
    try:
        if isinstance(settings, Settings):
            restarts = asyncio.run(_serve(each, listeners, report))
        else:
            restarts = asyncio.run(_serve_library(replace(settings, each=each), listeners, report))
    finally:
        if restarts or listeners.is_managed:
            listeners.accept_connections()
        if not restarts:
            listeners.close()
    if restarts:
        listeners.pass_on()
        restart_program()


async def _serve(settings: Settings, listeners: Listeners, report: Callable[[str], None]) -> bool:
    """Serve a home; return whether to start again."""
    authenticator = authenticator_of(settings)
    open_writer = partial(_open_writer, settings, LOG.warning)
    if settings.workers == 1:
        return await _serve_alone(open_writer, authenticator, settings, listeners, report)
    supervisor = Supervisor(
        open_writer, settings, listeners.sockets, RESTART_SECONDS if listeners.were_waiting else 0.0
    )
    signals = Signals(supervisor.stop, report)
    message = f"serving {settings.home} on {_url(listeners)}"
    is_closed = await supervisor.run(partial(_ready, report, f"{message} with {settings.workers} workers"))
    return _restarts(signals, listeners, is_closed)


def _restarts(signals: Signals, listeners: Listeners, is_closed: bool) -> bool:
    """Return whether to start again; otherwise end here if the home is still being opened, which nothing can stop."""
    if not (signals.restarts or is_closed):
        if listeners.is_managed:
            listeners.accept_connections()
        logging.shutdown()
        os._exit(0)
    return signals.restarts


def _ready(report: Callable[[str], None], message: str) -> None:
    report(message)
    notify("READY=1")


def models_to_serve(paths: Sequence[str], folder: str | None) -> dict[str, str]:
    """Return the models of some paths and of a directory by name; ValueError if a name occurs twice."""
    if folder is not None and not Path(folder).is_dir():
        raise ValueError(f"{folder} is not a directory of models")
    found = {} if folder is None else models_of(folder)
    for path in paths:
        check_model(path)
        name = name_of(path)
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a model: use letters, digits, dots, hyphens, underscores")
        if found.setdefault(name, path) != path:
            raise ValueError(f"{found[name]} and {path} have the same name; rename one of them")
    if not found and folder is None:
        raise ValueError("name a model, several models, or --library DIR")
    return found


async def _serve_library(settings: LibrarySettings, listeners: Listeners, report: Callable[[str], None]) -> bool:
    """Serve several models in this process; return whether to start again."""
    each = settings.each

    def open_writer(path: str, threads: Threads) -> Writer:
        name = name_of(path)
        one = replace(each, home=str(open_home(path).path), name=name)
        return _open_writer(one, lambda message: LOG.warning("%s: %s", name, message), threads=threads)

    def authenticator(path: str) -> Authenticator:
        return authenticator_of(replace(each, home=str(home_of(path))), settings.folder)

    allow_open_files()
    library = Library(
        settings.models,
        open_writer,
        authenticator,
        folder=settings.folder,
        memory=settings.memory,
        origins=each.origins,
    )
    gate = Gate(observers_of(each))
    gate.open(ModelsApp(library, administrator_of(settings)))
    listener = listeners.sockets[0]
    server = HttpServer(gate, listener, each.client_connections)
    signals = Signals(Drain(gate, server, listener).begin, report)
    models = "1 model" if len(library) == 1 else f"{len(library):,} models"
    _ready(report, f"serving {models} on {_url(listeners)}")
    try:
        await server.serve()
    finally:
        await library.close()
        gate.close()
    return signals.restarts


def allow_open_files() -> None:
    """Raise the limit of open files as far as this process may: an open model needs about 15."""
    if resource is not None:
        _, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))


async def _serve_alone(
    open_writer: Callable[[Progress], Writer],
    authenticator: Authenticator,
    settings: Settings,
    listeners: Listeners,
    report: Callable[[str], None],
) -> bool:
    """Serve with a writer in this process; return whether to start again."""
    gate, listener = Gate(observers_of(settings)), listeners.sockets[0]
    server = HttpServer(gate, listener, settings.client_connections)
    drain = Drain(gate, server, listener)
    signals = Signals(drain.begin, report)
    opening = Opening(open_writer, gate.update)
    if listeners.were_waiting:
        await drain.let_wait(opening.future, RESTART_SECONDS)
    serving = asyncio.get_running_loop().create_task(server.serve())
    writer: Writer | None = None
    try:
        either: list[asyncio.Future[Any]] = [serving, opening.future]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if opening.future.done():
            writer = opening.future.result()
            service = Service(writer.replica, LocalJournalClient(writer), settings.name, opinions=opinions_of(settings))
            gate.open(make_app(service, authenticator, settings.origins))
            _ready(report, f"serving {settings.home} on {_url(listeners)}")
        await serving
    finally:
        server.stop()
        await serving
        is_closed = await opening.close()
        gate.close()
    return _restarts(signals, listeners, is_closed)


def _url(listeners: Listeners) -> str:
    host, port = listeners.host, listeners.port
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
