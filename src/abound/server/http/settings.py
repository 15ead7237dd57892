"""The server's settings, and the authentication that follows from them."""

import re
from dataclasses import dataclass

from abound.server.home import UNDO_RECORDS
from abound.server.http.app import Authenticator
from abound.server.http.connections import MAX_PER_CLIENT
from abound.server.http.keys import KeyAuthenticator, KeyFile, LoopbackAuthenticator, UserHeader, is_loopback
from abound.server.writer import SNAPSHOT_EVERY

HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")


@dataclass(frozen=True)
class Settings:
    """The settings of a server; `quality` is a file that `abound evaluate --per-label-csv` wrote.

    `undo_records` and `keep_days` are those of a `Writer`.
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


def authenticator_of(settings: Settings) -> Authenticator:
    """Return the authenticator: by keys if there are any, otherwise for this machine only."""
    authenticator = _without_users(settings)
    header = settings.user_header
    if header is None:
        return authenticator
    if not HEADER_NAME.fullmatch(header):
        raise ValueError(f"--user-header must be the name of a header, such as X-Remote-User, got {header!r}")
    if isinstance(authenticator, LoopbackAuthenticator) and not settings.trust_proxy:
        raise ValueError("--user-header needs keys, or --trust-proxy; otherwise every local program could use any name")
    return UserHeader(authenticator, header)


def _without_users(settings: Settings) -> KeyAuthenticator | LoopbackAuthenticator:
    file = KeyFile(settings.home)
    if file.path.exists():
        return KeyAuthenticator(file)
    if not is_loopback(settings.host):
        raise ValueError(
            f"a server on {settings.host} needs keys, so that not everyone can change the model: "
            f"create one with `abound keys add {settings.home} NAME --scope admin`, or listen on 127.0.0.1"
        )
    return LoopbackAuthenticator(trust_proxy=settings.trust_proxy)
