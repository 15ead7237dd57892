"""`abound serve`: rank and learn over HTTP."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

import typer

from abound.cli.common import parse_size
from abound.cli.homes import note_other_origin
from abound.cli.serve_options import Operating, SecondOpinionService
from abound.errors import missing_extra

EPILOG = """\b
Example:
  abound serve subjects
  abound serve subjects --workers 4 --state /var/lib/subjects
  abound serve subjects --quality quality.csv
  abound serve --library models --memory 4G
  abound serve subjects --journal postgresql://db/subjects --snapshots s3://bucket/subjects
  curl --json '{"text": "Growing roses in cold climates"}' http://127.0.0.1:8000/v1/rank
"""
NEEDED = ("granian", "msgspec", "prometheus_client", "starlette")  # packages of the extra


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help="Model directories, or home directories of served models."),
    ] = None,
    library: Annotated[
        str | None,
        typer.Option("--library", metavar="DIR", help="Serve all models of a directory; more can be added later."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="With several models, close the least used ones so that the server takes at most this much private "
            "memory, such as 4G. They are opened again on demand. Default: no limit.",
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="DIR", help="Directory for the journal and snapshots. Default: MODEL.served."),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(
            "--journal",
            metavar="URL",
            help="Share a journal in PostgreSQL with other machines, such as postgresql://host/database.",
        ),
    ] = None,
    snapshots: Annotated[
        str | None,
        typer.Option(
            "--snapshots",
            metavar="PLACE",
            help="With --journal, where new machines find snapshots: a directory, or a URL such as s3://bucket/path.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, help="Number of processes that answer requests.")
    ] = 1,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the model on the page. Default: its directory's."),
    ] = None,
    quality: Annotated[
        str | None,
        typer.Option(
            "--quality", metavar="FILE", help="Show the quality of labels that `abound evaluate --per-label-csv` wrote."
        ),
    ] = None,
    closed: Annotated[bool, typer.Option("--closed", help="Reject unknown labels; they must be added first.")] = False,
    snapshot_every: Annotated[
        int | None,
        typer.Option("--snapshot-every", min=1, metavar="N", help="Write a snapshot after this many records."),
    ] = None,
    undo_records: Annotated[
        int | None,
        typer.Option(
            "--undo-records",
            min=0,
            metavar="N",
            help="Keep snapshots so that each of the last N records can be undone within seconds. Default: 10000.",
        ),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(
            "--keep-days", min=0, metavar="DAYS", help="Remove archived records that are older. Default: keep all."
        ),
    ] = None,
    trust_proxy: Annotated[
        bool,
        typer.Option(
            "--trust-proxy",
            help="Without keys, accept requests forwarded by a proxy on this machine, which must authenticate users.",
        ),
    ] = False,
    user_header: Annotated[
        str | None,
        typer.Option(
            "--user-header",
            metavar="HEADER",
            help="Record the person's name that a proxy sends in this header, such as X-Remote-User. "
            "The proxy must remove it from the requests of clients.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            metavar="ORIGIN",
            help="Let OpenRefine at this address use the server from a browser. Can be repeated. "
            "Default: http://127.0.0.1:3333 and http://localhost:3333.",
        ),
    ] = None,
    client_connections: Annotated[
        int | None,
        typer.Option(
            "--client-connections",
            min=1,
            metavar="N",
            help="Close idle connections of a client address, such as a proxy, above this number.",
        ),
    ] = None,
    *,
    operating: Operating,
    opinion: SecondOpinionService,
) -> None:
    """Serve a model over HTTP: rank, learn each correction immediately, and keep all of them in a journal."""
    serving = load_server()
    from abound.server.http.logs import report

    logs = operating.start()
    given: dict[str, Any] = {
        "snapshot_every": snapshot_every,
        "client_connections": client_connections,
        "quality": quality,
    }
    given |= {"undo_records": undo_records, "keep_days": keep_days}
    given |= {"user_header": user_header, "name": name, "origins": tuple(allow_origin) if allow_origin else None}
    chosen = {name: value for name, value in given.items() if value is not None}
    chosen |= {"logs": logs, "traces": operating.traces, "journal": journal, "snapshots": snapshots}
    chosen |= {"second_opinion": opinion.settings()}
    settings = serving.Settings("", host, port, workers, closed, trust_proxy=trust_proxy, **chosen)
    if library is None and journal is not None and len(models or []) <= 1:
        if memory is not None:
            raise ValueError("--memory needs several models, or --library")
        _serve_shared(serving, settings, models[0] if models else None, state, operating, report)
        return
    if library is None and models is not None and len(models) == 1:
        if memory is not None:
            raise ValueError("--memory needs several models, or --library")
        name = name or serving.name_of(models[0])
        if operating.check:
            serving.check(replace(settings, home=serving.check_model(models[0], state), name=name))
            return
        home = serving.open_home(models[0], state)
        note_other_origin(models[0], home, report)
        operating.run(serving.run, replace(settings, home=str(home.path), name=name), report)
        return
    options = {
        "--journal": journal,
        "--state": state,
        "--name": name,
        "--quality": quality,
        "--workers": workers if workers > 1 else None,
        "--second-opinion": opinion.second_opinion,
    }
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} needs a server with one model")
    n_bytes = None if memory is None else parse_size(memory)
    all_settings = serving.LibrarySettings(serving.models_to_serve(models or [], library), settings, library, n_bytes)
    if operating.check:
        serving.check(all_settings)
        return
    operating.run(serving.run, all_settings, report)


def _serve_shared(
    serving: Any, settings: Any, model: str | None, state: str | None, operating: Operating, report: Any
) -> None:
    """Serve a model whose journal is shared with other machines."""
    name = settings.name or serving.name_of(model if model is not None else str(state))
    if operating.check:
        home = state if state is not None or model is None else str(serving.home_of(model))
        if model is not None:
            serving.check_model(model, state)
        elif settings.snapshots is None:
            serving.check_model(str(state))
        serving.check(replace(settings, home=str(home), name=name))
        return
    home = serving.join_home(model, state, settings, report)
    if model is not None:
        note_other_origin(model, home, report)
    operating.run(serving.run, replace(settings, home=str(home.path), name=name), report)


def load_server() -> Any:
    """Import the server. Raise an error that names the extra if a package is missing."""
    try:
        with uninterrupted():
            from abound.server.http import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        raise missing_extra("the server needs granian, msgspec and more", "server") from None
    return serve


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block: a Rust library panics if it is interrupted during import."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        raise KeyboardInterrupt
