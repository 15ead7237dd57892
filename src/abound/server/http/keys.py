"""Keys of the API: kept as hashes, compared in constant time, each with a scope."""

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from abound.errors import JournalError
from abound.server.http.endpoints import Scope
from abound.server.http.problems import Problem
from abound.store.directory import sync_directory
from abound.store.locks import FileLock

FILE = "keys.json"
PREFIX = "abound_"  # so that a key that leaked is recognised
SCOPES = {"read": Scope.READ, "learn": Scope.LEARN, "admin": Scope.ADMIN}
MAX_HOSTS = 16
RECHECK_SECONDS = 1.0  # seconds until a change of the file is noticed
LOCK_SECONDS = 30.0  # for which a change waits for others to end
# Headers that a proxy adds: whoever sends one speaks for somebody else.
FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip"})  # and all that begin with x-forwarded-


@dataclass(frozen=True)
class Key:
    """What is kept of a key: who has it, what it allows, and its hash; it has 256 random bits, so one hash does."""

    name: str
    scope: str
    sha256: str
    created: str


class KeyFile:
    """The keys of a home.

    Parameters
    ----------
    home : path
        The directory in which a model is served.
    """

    def __init__(self, home: str | os.PathLike[str]) -> None:
        self.path = Path(home) / FILE

    def read(self) -> list[Key]:
        """Return all keys; none if there is no file."""
        try:
            found = [Key(**entry) for entry in json.loads(self.path.read_text("utf-8"))]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise JournalError(f"{self.path} is no file of keys: {error}") from None
        if not all(key.scope in SCOPES and isinstance(key.sha256, str) for key in found):
            raise JournalError(f"{self.path} has a key whose scope is none of {', '.join(SCOPES)}")
        return found

    def add(self, name: str, scope: str) -> str:
        """Make a key and return it; it is not kept, and cannot be shown again."""
        if scope not in SCOPES:
            raise ValueError(f"a scope must be one of {', '.join(SCOPES)}, got {scope!r}")
        secret = PREFIX + secrets.token_urlsafe(32)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with self._changing():
            keys = self.read()
            if not name or any(key.name == name for key in keys):
                raise ValueError(f"a key needs a name that no other has, got {name!r}")
            self._write([*keys, Key(name, scope, _hash(secret.encode()), created)])
        return secret

    def remove(self, name: str) -> None:
        """Forget a key; servers refuse it within a second."""
        with self._changing():
            keys = self.read()
            if all(key.name != name for key in keys):
                raise ValueError(f"there is no key {name!r}; there are {', '.join(key.name for key in keys) or 'none'}")
            self._write([key for key in keys if key.name != name])

    def _changing(self) -> FileLock:
        """Wait until nobody else changes the keys: two who read the same file would each write without the other."""
        ends = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return FileLock(self.path.with_suffix(".lock"))
            except BlockingIOError:
                if time.monotonic() > ends:
                    raise JournalError(f"another process is changing {self.path}; try again later") from None
                time.sleep(0.01)

    def _write(self, keys: list[Key]) -> None:
        new = self.path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump([asdict(key) for key in keys], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        sync_directory(self.path.parent)


def _hash(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


class KeyAuthenticator:
    """Let in who has a key of a high enough scope; changes of the file are noticed.

    A home whose keys were all removed lets nobody in: only a server that was started without keys does.
    """

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._stamp = self._stamped()  # first: a change that comes after it is noticed
        self._keys = file.read()
        self._looked = time.monotonic()

    def _stamped(self) -> tuple[int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < RECHECK_SECONDS:
            return
        self._looked = now
        stamp = self._stamped()
        if stamp != self._stamp:
            self._keys, self._stamp = self._file.read(), stamp

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> None:
        """Raise the problem of a request without a key, or with one of too low a scope."""
        if needed == Scope.OPEN:
            return
        self._look()
        kind, _, secret = headers.get(b"authorization", b"").partition(b" ")
        given, allowed = _hash(secret.strip()), Scope.OPEN
        for key in self._keys:  # all of them, so that the time tells nothing
            if hmac.compare_digest(given, key.sha256):
                allowed = SCOPES[key.scope]
        if kind.lower() != b"bearer" or allowed == Scope.OPEN:
            challenge = {b"www-authenticate": b'Bearer realm="abound"'}
            raise Problem(401, "give a key of this server, as Authorization: Bearer KEY", challenge)
        if allowed < needed:
            raise Problem(403, f"this needs a key of scope {needed.name.lower()}, this one's is {allowed.name.lower()}")


class LoopbackAuthenticator:
    """Without keys: everything is allowed, on this machine.

    A web page from elsewhere must not reach it through somebody's browser under a name of its own, so the Host has
    to be a loopback address. A proxy on this machine speaks for others, so what it forwards is refused too.

    Parameters
    ----------
    trust_proxy : bool
        Whether forwarded requests are answered: the proxy has to decide who may send them.
    """

    def __init__(self, *, trust_proxy: bool = False) -> None:
        self._trust_proxy = trust_proxy
        self._known: set[bytes] = set()  # hosts that were let in: looking at an address takes a while

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> None:
        """Raise the problem of a request that was sent to another name, or by a proxy for somebody else."""
        if needed == Scope.OPEN:
            return
        if not self._trust_proxy and any(map(_is_forwarded, headers)):
            raise Problem(
                403,
                "a server without keys refuses what a proxy forwards; make keys with `abound keys add`, "
                "or start it with --trust-proxy if the proxy decides who may come in",
            )
        host = headers.get(b"host")
        if host in self._known or host is None:
            return
        name = host.decode("latin-1")
        name = name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]
        if not is_loopback(name):
            raise Problem(403, "a server without keys answers to localhost only")
        if len(self._known) < MAX_HOSTS:
            self._known.add(host)


def _is_forwarded(header: bytes) -> bool:
    return header.startswith(b"x-forwarded-") or header in FORWARDED


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine only.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "LocalHost.", "[::1]", "localhost.example")]
    [True, True, True, False]
    """
    name = host.lower().removesuffix(".")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
