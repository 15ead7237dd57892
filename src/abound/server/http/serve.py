"""Serve a home over HTTP until a signal comes, in one process or in a writer and its workers."""

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from abound.errors import UnknownFormat
from abound.server.home import SERVED_SUFFIX, Home
from abound.server.http.app import Authenticator, make_app
from abound.server.http.library import NAME, Library, models_of
from abound.server.http.listener import Drain, HttpServer, listen
from abound.server.http.models import ModelsApp
from abound.server.http.service import LocalJournalClient, Service
from abound.server.http.settings import LibrarySettings, Settings, administrator_of, authenticator_of
from abound.server.http.starting import Gate, Opening, warm
from abound.server.http.supervisor import Supervisor
from abound.server.replay import Progress
from abound.server.turns import Threads
from abound.server.writer import Writer
from abound.store.directory import MANIFEST, is_home, read_manifest
from abound.tagger import Tagger
from abound.tagger.label_quality import read_quality

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

DAY = 24 * 3600  # seconds


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


async def serve(settings: Settings, report: Callable[[str], None]) -> None:
    """Serve a home until SIGTERM or SIGINT.

    Parameters
    ----------
    settings : Settings
    report : callable
        Called with a message when the server is ready, and with other messages for the operator.
    """
    if settings.workers > 1 and not hasattr(socket, "AF_UNIX"):
        raise ValueError("several workers need a system whose processes can inherit sockets; use one worker here")
    authenticator = authenticator_of(settings)
    open_writer = partial(_open_writer, settings, report)

    with ExitStack() as stack:
        listeners = [stack.enter_context(one) for one in listen(settings.host, settings.port, settings.workers)]
        message = f"serving {settings.home} on {_url(listeners[0])}"
        if settings.workers > 1:
            supervisor = Supervisor(open_writer, settings, listeners)
            _on_signals(supervisor.stop)
            await supervisor.run(lambda: report(f"{message} with {settings.workers} workers"))
        else:
            await _serve_alone(open_writer, authenticator, settings, listeners[0], lambda: report(message))


def models_to_serve(paths: Sequence[str], folder: str | None) -> dict[str, str]:
    """Return the models of some paths and of a directory by name; ValueError if a name occurs twice."""
    if folder is not None and not Path(folder).is_dir():
        raise ValueError(f"{folder} is not a directory of models")
    found = {} if folder is None else models_of(folder)
    for path in paths:
        if not is_home(path) and not (Path(path) / MANIFEST).is_file():
            raise UnknownFormat(f"{path} is not a model: it has no {MANIFEST}")
        name = name_of(path)
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a model: use letters, digits, dots, hyphens, underscores")
        if found.setdefault(name, path) != path:
            raise ValueError(f"{found[name]} and {path} have the same name; rename one of them")
    if not found and folder is None:
        raise ValueError("name a model, several models, or --library DIR")
    return found


async def serve_library(settings: LibrarySettings, report: Callable[[str], None]) -> None:
    """Serve several models in one process until SIGTERM or SIGINT; see `serve`."""
    each = settings.each

    def open_writer(path: str, threads: Threads) -> Writer:
        name = name_of(path)
        one = replace(each, home=str(open_home(path).path), name=name)
        return _open_writer(one, lambda message: report(f"{name}: {message}"), threads=threads)

    def authenticator(path: str) -> Authenticator:
        return authenticator_of(replace(each, home=str(home_of(path))), settings.folder)

    allow_open_files()
    with listen(each.host, each.port)[0] as listener:
        library = Library(
            settings.models,
            open_writer,
            authenticator,
            folder=settings.folder,
            memory=settings.memory,
            origins=each.origins,
        )
        gate = Gate()
        gate.open(ModelsApp(library, administrator_of(settings)))
        server = HttpServer(gate, listener, each.client_connections)
        _on_signals(Drain(gate, server, listener).begin)
        models = "1 model" if len(library) == 1 else f"{len(library):,} models"
        report(f"serving {models} on {_url(listener)}")
        try:
            await server.serve()
        finally:
            await library.close()


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
    listener: socket.socket,
    ready: Callable[[], None],
) -> None:
    """Serve with a writer in this process."""
    gate = Gate()
    server = HttpServer(gate, listener, settings.client_connections)
    _on_signals(Drain(gate, server, listener).begin)
    serving = asyncio.get_running_loop().create_task(server.serve())
    opening = Opening(open_writer, gate.update)
    writer: Writer | None = None
    try:
        either: list[asyncio.Future[Any]] = [serving, opening.future]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if opening.future.done():
            writer = opening.future.result()
            service = Service(writer.replica, LocalJournalClient(writer), settings.name)
            gate.open(make_app(service, authenticator, settings.origins))
            ready()
        await serving
    finally:
        server.stop()
        await serving
        await opening.close()


def _on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
