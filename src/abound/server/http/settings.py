"""The server's settings, and the authentication that follows from them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from abound.posting import address_of
from abound.second_opinion.outside import KEY, SECONDS, OutsideOpinion
from abound.server.home import SERVED_SUFFIX, UNDO_RECORDS
from abound.server.http.access import AccessLog
from abound.server.http.app import Authenticator
from abound.server.http.connections import MAX_PER_CLIENT
from abound.server.http.endpoints import Caller, Scope
from abound.server.http.keys import KeyAuthenticator, KeyFile, LoopbackAuthenticator, UserHeader, is_loopback
from abound.server.http.logs import LogSettings
from abound.server.http.observing import Observer
from abound.server.http.opinions import Opinions
from abound.server.http.problems import Problem
from abound.server.http.traces import Tracer
from abound.server.snapshots import SNAPSHOT_EVERY

OPENREFINE = ("http://127.0.0.1:3333", "http://localhost:3333")  # where OpenRefine listens unless it is told otherwise
ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-fA-F:]+\](:[0-9]{1,5})?")
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")


@dataclass(frozen=True)
class OpinionSettings:
    """A service for a second opinion: its address, how many seconds it has, and requests per minute of the server."""

    url: str
    timeout: float = SECONDS
    budget: int | None = None

    def __post_init__(self) -> None:
        address_of(self.url)  # ValueError if it cannot be used


@dataclass(frozen=True)
class Settings:
    """The settings of a server; `quality` is a file that `abound evaluate --per-label-csv` wrote.

    `undo_records` and `keep_days` are those of a `Writer`. `origins` may read answers for OpenRefine from a browser.
    `journal` is the URL of a database with a journal that several machines share, and `snapshots` where they find
    snapshots.
    """

    home: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    closed: bool = False
    snapshot_every: int | None = SNAPSHOT_EVERY
    undo_records: int = UNDO_RECORDS
    keep_days: float | None = None
    trust_proxy: bool = False
    client_connections: int = MAX_PER_CLIENT
    quality: str | None = None
    user_header: str | None = None
    name: str | None = None  # of the model, for people
    origins: tuple[str, ...] = OPENREFINE
    logs: LogSettings = field(default_factory=LogSettings)
    traces: bool = False  # whether spans are sent to an OpenTelemetry collector
    journal: str | None = None
    snapshots: str | None = None
    second_opinion: OpinionSettings | None = None

    def __post_init__(self) -> None:
        for origin in self.origins:
            if not ORIGIN.fullmatch(origin):
                raise ValueError(f"--allow-origin must be an origin such as http://localhost:3333, got {origin!r}")
        if self.journal and not self.journal.startswith(("postgresql://", "postgres://")):
            raise ValueError("--journal must be the URL of a database, such as postgresql://host/database")
        if self.snapshots is not None and self.journal is None:
            raise ValueError("--snapshots is where several machines find snapshots; it needs --journal")
        if self.journal and self.keep_days is not None and self.snapshots is None:
            raise ValueError(
                "--keep-days with --journal needs --snapshots, because a new machine cannot replay all records"
            )

        opinion = self.second_opinion
        if opinion is not None and opinion.budget is not None and opinion.budget < self.workers:
            raise ValueError(f"--second-opinion-budget must be at least the number of workers, got {opinion.budget}")
        if opinion is not None and self.workers > 1 and urlsplit(opinion.url).username is not None:
            raise ValueError(  # workers get their settings as arguments, which other users of the machine can see
                f"with several workers, --second-opinion must not have a password; set {KEY} instead"
            )

    @property
    def is_shared(self) -> bool:
        """Whether other machines write to the journal, too."""
        return self.journal is not None

    def for_worker(self) -> "Settings":
        """Return the settings of a process that does not write; they have no password."""
        return self if self.journal is None else replace(self, journal="", snapshots=None)


@dataclass(frozen=True)
class LibrarySettings:
    """The settings of a server with several models.

    Attributes
    ----------
    models : dict
        The paths of models, or of their homes, by name.
    each : Settings
        Those of each model; `home` and `name` are replaced.
    folder : str or None
        The directory that the models come from.
    memory : int or None
        Private bytes above which models are closed.
    """

    models: dict[str, str]
    each: Settings
    folder: str | None = None
    memory: int | None = None


def opinions_of(settings: Settings) -> Opinions | None:
    """Return what asks for a second opinion in one of the processes, which share the budget."""
    given = settings.second_opinion
    if given is None:
        return None
    budget = None if given.budget is None else given.budget // settings.workers
    return Opinions(OutsideOpinion(given.url, timeout=given.timeout, budget=budget), given.timeout)


def observers_of(settings: Settings) -> list[Observer]:
    """Return what notes the requests of this process."""
    observers: list[Observer] = [AccessLog(settings.logs)]
    if settings.traces:
        observers.append(Tracer())
    return observers


def authenticator_of(settings: Settings, library: str | None = None) -> Authenticator:
    """Return the authenticator: by keys of the home or the library if there are any, otherwise this machine's."""
    authenticator = _without_users(settings, library)
    header = settings.user_header
    if header is None:
        return authenticator
    if not HEADER_NAME.fullmatch(header):
        raise ValueError(f"--user-header must be the name of a header, such as X-Remote-User, got {header!r}")
    if isinstance(authenticator, LoopbackAuthenticator) and not settings.trust_proxy:
        raise ValueError("--user-header needs keys, or --trust-proxy; otherwise every local program could use any name")
    return UserHeader(authenticator, header)


def _without_users(settings: Settings, library: str | None) -> KeyAuthenticator | LoopbackAuthenticator:
    files = [KeyFile(path) for path in (settings.home, library) if path is not None]
    if any(file.path.exists() for file in files):
        return KeyAuthenticator(*files)
    if not is_loopback(settings.host):
        raise ValueError(
            f"a server on {settings.host} needs keys, so that not everyone can change the model: "
            f"create one with `abound keys add {library or settings.home} NAME --scope admin`, or listen on 127.0.0.1"
        )
    return LoopbackAuthenticator(trust_proxy=settings.trust_proxy)


class _Nobody:
    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> Caller:  # noqa: ARG002  the protocol's form
        raise Problem(403, "the library has no keys; create one with `abound keys add LIBRARY NAME --scope admin`")


def administrator_of(settings: LibrarySettings) -> Authenticator:
    """Return the authenticator of requests that change a library: by its keys, or for this machine if nothing has keys.

    A key of a model is not enough.
    """
    if settings.folder is not None and KeyFile(settings.folder).path.exists():
        return KeyAuthenticator(KeyFile(settings.folder))
    homes = [
        Path(path).with_name(Path(path).name + suffix)
        for path in settings.models.values()
        for suffix in ("", SERVED_SUFFIX)
    ]
    if any(KeyFile(home).path.exists() for home in homes) or not is_loopback(settings.each.host):
        return _Nobody()
    return LoopbackAuthenticator(trust_proxy=settings.each.trust_proxy)
