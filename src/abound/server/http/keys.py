"""API keys: stored as hashes, compared in constant time, each with a scope, and perhaps an expiry and limits."""

import base64
import contextlib
import hashlib
import hmac
import ipaddress
import json
import math
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from abound.errors import JournalError
from abound.server.http.allowances import MAX_PER_MINUTE, TIME, Allowance, KeyRefused, Limits
from abound.server.http.endpoints import ANYONE, Caller, Scope
from abound.server.http.problems import Problem
from abound.server.listing import microseconds
from abound.store.directory import sync_directory
from abound.store.journal.rows import MAX_ORIGIN
from abound.store.locks import FileLock

FILE = "keys.json"
PREFIX = "abound_"  # so that a leaked key is recognised
SCOPES = {"read": Scope.READ, "learn": Scope.LEARN, "admin": Scope.ADMIN}
MAX_HOSTS = 16
RECHECK_SECONDS = 1.0  # until a change of the file is noticed
LOCK_SECONDS = 30.0  # for which a change waits for other changes
UNLIMITED = Limits()
CHALLENGE = {b"www-authenticate": b'Bearer realm="abound"'}
# Headers that a proxy adds.
FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip"})  # and all that begin with x-forwarded-


@dataclass(frozen=True)
class Key:
    """The stored form of a key: its owner, scope and hash. A key has 256 random bits, so one hash is enough.

    `expires` is a time in UTC; the limits are those of `Limits`. None means that there is none.
    """

    name: str
    scope: str
    sha256: str
    created: str
    expires: str | None = None
    requests: int | None = None
    learns: int | None = None
    memory: int | None = None

    @property
    def limits(self) -> Limits:
        """The limits of the key."""
        return Limits(self.requests, self.learns, self.memory)

    @cached_property
    def expires_at(self) -> float:
        """When the key expires, in seconds since 1970."""
        return math.inf if self.expires is None else microseconds(self.expires) / 1e6

    def check(self) -> None:
        """Raise ValueError if a field is not valid."""
        if not all(isinstance(value, str) for value in (self.name, self.scope, self.sha256, self.created)):
            raise ValueError("a key needs a name, a scope, a hash and the time at which it was created")
        if self.scope not in SCOPES:
            raise ValueError(f"a scope must be one of {', '.join(SCOPES)}, got {self.scope!r}")
        if self.expires is not None:
            if not isinstance(self.expires, str):
                raise ValueError(
                    f"expires must be a time in quotes, such as '2027-01-31T00:00:00Z', got {self.expires!r}"
                )
            microseconds(self.expires)
        for name, value in zip(("requests", "learns"), (self.requests, self.learns), strict=True):
            if value is not None and not (type(value) is int and 1 <= value <= MAX_PER_MINUTE):
                raise ValueError(f"{name} must be a number per minute from 1 to {MAX_PER_MINUTE:,}, got {value!r}")
        if self.memory is not None and not (type(self.memory) is int and 1 <= self.memory < 1 << 62):
            raise ValueError(f"memory must be a number of bytes, got {self.memory!r}")

    def entry(self) -> dict[str, Any]:
        """Return what is stored; without what is not set, so that earlier versions can read it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


FIELDS = tuple(field.name for field in fields(Key))


class KeyFile:
    """The keys of a home.

    Parameters
    ----------
    home : path
        The home of the served model.
    """

    def __init__(self, home: str | os.PathLike[str]) -> None:
        self.path = Path(home) / FILE

    def read(self) -> list[Key]:
        """Return all keys; an empty list if there is no file."""
        try:
            entries = json.loads(self.path.read_text("utf-8"))
            keys = [_key_of(entry) for entry in entries]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise JournalError(f"{self.path} is not a valid key file: {error}") from None
        return keys

    def allowance(self, key: Key) -> Allowance:
        """Return the limits of a key and what it has used of them."""
        return Allowance(self.path.parent, key.name, key.sha256, key.limits)

    def add(self, name: str, scope: str, expires: str | None = None, limits: Limits = UNLIMITED) -> str:
        """Create a key and return it; it is not stored and cannot be shown again."""
        secret = PREFIX + secrets.token_urlsafe(32)
        key = Key(name, scope, _hash(secret.encode()), time.strftime(TIME, time.gmtime()), expires, *limits)
        key.check()
        with self._changing():
            keys = self.read()
            if len(name) > MAX_ORIGIN or not name.isprintable():
                raise ValueError(f"the name of a key must have at most {MAX_ORIGIN} printable characters, got {name!r}")
            if not name or any(key.name == name for key in keys):
                raise ValueError(f"a key needs a unique name, got {name!r}")
            self.allowance(key).prepare()
            self._write([*keys, key])
        return secret

    def set(self, name: str, **changes: Any) -> Key:
        """Change the scope, the expiry or the limits of a key; servers notice it within a second."""
        with self._changing():
            keys = self.read()
            changed = replace(_find(keys, name), **changes)
            changed.check()
            self.allowance(changed).prepare()
            self._write([changed if key.name == name else key for key in keys])
        return changed

    def remove(self, name: str) -> None:
        """Remove a key; servers refuse it within a second."""
        with self._changing():
            keys = self.read()
            removed = _find(keys, name)
            self._write([key for key in keys if key.name != name])
            self.allowance(removed).remove()

    def _changing(self) -> FileLock:
        """Lock the keys, so that concurrent changes do not overwrite each other."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return FileLock(self.path.with_suffix(".lock"))
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise JournalError(f"another process is changing {self.path}; try again later") from None
                time.sleep(0.01)

    def _write(self, keys: list[Key]) -> None:
        new = self.path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump([key.entry() for key in keys], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        sync_directory(self.path.parent)


def _hash(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def _key_of(entry: Any) -> Key:
    if not isinstance(entry, dict):
        raise ValueError("it must be a list of objects")
    unknown = [name for name in entry if name not in FIELDS]
    if unknown:
        raise ValueError(f"this version of abound does not know the field {unknown[0]!r} of a key; use a newer version")
    key = Key(**entry)
    key.check()
    return key


def _find(keys: list[Key], name: str) -> Key:
    for key in keys:
        if key.name == name:
            return key
    raise ValueError(f"there is no key {name!r}; there are {', '.join(key.name for key in keys) or 'none'}")


class KeyAuthenticator:
    """Accept requests with a key of a sufficient scope; changes of the key files are noticed.

    If all keys of a home are removed, every request is refused. Only a server that was started without keys accepts
    requests without one.
    """

    def __init__(self, *files: KeyFile) -> None:
        self._files = files
        self._allowances: dict[Key, Allowance] = {}
        self._versions = self._file_versions()  # before reading, so that a later change is noticed
        self._keys = self._read()
        self._checked = time.monotonic()

    def _read(self) -> list[Key]:
        allowances, keys = {}, []
        for file in self._files:
            for key in file.read():
                keys.append(key)
                allowances[key] = self._allowances.get(key) or file.allowance(key)
        self._allowances = allowances
        return keys

    def _file_versions(self) -> list[tuple[int, int] | None]:
        return [_version(file.path) for file in self._files]

    def _refresh(self) -> bool:
        """Read the files again if one has changed; return whether one has."""
        self._checked = time.monotonic()
        versions = self._file_versions()
        if versions == self._versions:
            return False
        self._keys, self._versions = self._read(), versions
        return True

    def _find(self, given: str) -> Key | None:
        found = None
        for key in self._keys:  # all of them, so that the time reveals nothing
            if hmac.compare_digest(given, key.sha256):
                found = key
        return found

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> Caller:
        """Return the name of a request's key; raise Problem if it has none, or one that is not sufficient."""
        if needed == Scope.OPEN:
            return Caller(Scope.OPEN)
        if time.monotonic() - self._checked >= RECHECK_SECONDS:
            self._refresh()
        secret = _secret(headers.get(b"authorization", b""))
        given = _hash(secret)
        key = self._find(given)
        if key is None and secret and self._refresh():  # it may be new; this only asks for the time of the files
            key = self._find(given)
        if key is None:
            raise KeyRefused("unknown", 401, "send a key of this server, as Authorization: Bearer KEY", CHALLENGE)
        if time.time() >= key.expires_at:
            message = f"the key {key.name!r} expired at {key.expires}; send another one"
            raise KeyRefused("expired", 401, message, CHALLENGE, key.name)
        allowance, allowed = self._allowances[key], SCOPES[key.scope]
        if allowed < needed:
            message = f"this needs a key of scope {needed.name.lower()}; this key has scope {allowed.name.lower()}"
            raise KeyRefused("scope", 403, message, who=key.name)
        allowance.note_use()
        return Caller(allowed, key.name[:MAX_ORIGIN], None if key.limits == UNLIMITED else allowance)


def _secret(header: bytes) -> bytes:
    """Return the key of an Authorization header: a bearer token, or the password of basic authentication.

    Examples
    --------
    >>> _secret(b"Bearer abound_x"), _secret(b"Basic bGFiZWw6YWJvdW5kX3g="), _secret(b"Digest abound_x")
    (b'abound_x', b'abound_x', b'')
    """
    kind, _, given = header.partition(b" ")
    if kind.lower() == b"bearer":
        return given.strip()
    if kind.lower() == b"basic":
        with contextlib.suppress(ValueError):
            return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
    return b""


def _version(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


class LoopbackAuthenticator:
    """Without keys: accept all requests from this machine.

    The Host header must be a loopback address, so that a foreign web page cannot reach the server through a browser by
    DNS rebinding. Requests that a proxy forwards are refused, because they may come from other machines.

    Parameters
    ----------
    trust_proxy : bool
        Whether forwarded requests are answered; the proxy must then authenticate them.
    """

    def __init__(self, *, trust_proxy: bool = False) -> None:
        self._trust_proxy = trust_proxy
        self._known: set[bytes] = set()  # accepted hosts: parsing an address takes a while

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> Caller:
        """Return an unknown caller; raise Problem if a request has another Host, or was forwarded by a proxy."""
        if needed == Scope.OPEN:
            return ANYONE
        if not self._trust_proxy and any(map(_is_forwarded, headers)):
            raise Problem(
                403,
                "a server without keys refuses requests that a proxy forwards; create keys with `abound keys add`, "
                "or start the server with --trust-proxy if the proxy authenticates requests",
            )
        host = headers.get(b"host")
        if host in self._known or host is None:
            return ANYONE
        name = host.decode("latin-1")
        name = name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]
        if not is_loopback(name):
            raise Problem(403, "a server without keys answers only to localhost")
        if len(self._known) < MAX_HOSTS:
            self._known.add(host)
        return ANYONE


class UserHeader:
    """Take the name of a person from a header that a proxy sets; without it, the caller stays the same.

    Parameters
    ----------
    authenticator : Authenticator
        What the request may do.
    header : str
        The name of the header. The proxy must remove it from the requests of clients.
    """

    def __init__(self, authenticator: "KeyAuthenticator | LoopbackAuthenticator", header: str) -> None:
        self._authenticator = authenticator
        self._name = header
        self._header = header.lower().encode("ascii")

    def check(self, headers: Mapping[bytes, bytes], needed: Scope) -> Caller:
        """Return who sends a request; raise Problem if it may not, or if the name is not valid."""
        caller = self._authenticator.check(headers, needed)
        raw = headers.get(self._header)
        if raw is None:
            return caller
        try:
            who = raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise Problem(400, f"{self._name} must be a name in UTF-8") from None
        if not 1 <= len(who) <= MAX_ORIGIN or not who.isprintable():
            raise Problem(400, f"{self._name} must be a name of 1 to {MAX_ORIGIN} printable characters")
        return caller._replace(who=who)


def _is_forwarded(header: bytes) -> bool:
    return header.startswith(b"x-forwarded-") or header in FORWARDED


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

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
