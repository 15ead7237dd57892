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

FILE = "keys.json"
PREFIX = "abound_"  # so that a key that leaked is recognised
SCOPES = {"read": Scope.READ, "learn": Scope.LEARN, "admin": Scope.ADMIN}
MOST_HOSTS = 16
LOOK_AGAIN = 1.0  # seconds until a change of the file is noticed


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
        keys = self.read()
        if not name or any(key.name == name for key in keys):
            raise ValueError(f"a key needs a name that no other has, got {name!r}")
        secret = PREFIX + secrets.token_urlsafe(32)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._write([*keys, Key(name, scope, _hash(secret.encode()), created)])
        return secret

    def remove(self, name: str) -> None:
        """Forget a key; servers refuse it within a second."""
        keys = self.read()
        if all(key.name != name for key in keys):
            raise ValueError(f"there is no key {name!r}; there are {', '.join(key.name for key in keys) or 'none'}")
        self._write([key for key in keys if key.name != name])

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


class KeyDoor:
    """Let in who has a key of a high enough scope; changes of the file are noticed.

    A home whose keys were all removed lets nobody in: only a server that was started without keys does.
    """

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._keys = file.read()
        self._stamp = self._stamped()
        self._looked = time.monotonic()

    def _stamped(self) -> tuple[int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_AGAIN:
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


class LoopbackDoor:
    """Without keys: everything is allowed, on this machine.

    A web page from elsewhere must not reach it through somebody's browser under a name of its own, so the Host has
    to be a loopback address.
    """

    def __init__(self) -> None:
        self._known: set[bytes] = set()  # hosts that were let in: looking at an address takes a while

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> None:
        """Raise the problem of a request that was sent to another name."""
        host = headers.get(b"host")
        if host in self._known or needed == Scope.OPEN or host is None:
            return
        name = host.decode("latin-1")
        name = name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]
        if not is_loopback(name):
            raise Problem(403, "a server without keys answers to localhost only")
        if len(self._known) < MOST_HOSTS:
            self._known.add(host)


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
