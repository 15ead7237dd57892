"""JSON that is posted to another service, with a limit on the total time and on the size of the answer."""

import base64
import contextlib
import functools
import http.client
import json
import os
import socket
import ssl
import threading
import urllib.error
import urllib.request
from concurrent.futures import Future
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from abound.errors import ServerError, ServerUnreachable

SHOWN = 200  # bytes of an error's text


class Address(NamedTuple):
    """The address of a service.

    Attributes
    ----------
    url : str
        Without a user, a password and a fragment.
    shown : str
        For messages and logs: also without the query, which may contain a key.
    authorization : str or None
        The value of the header `Authorization`, which is secret.
    """

    url: str
    shown: str
    authorization: str | None = None


def read_key(variable: str) -> str:
    """Return the key in an environment variable, "" if there is none; ValueError if it cannot be sent."""
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise ValueError(f"{variable} must consist of printable ASCII characters")
    return key


def address_of(url: str, key: str = "") -> Address:
    """Return the address of a URL; a key becomes a bearer token, and a user and a password become Basic credentials.

    Raises
    ------
    ValueError
        If the URL is not of http or https, or if there is a key and a user. The message does not contain them.

    Examples
    --------
    >>> address_of("http://me:secret@127.0.0.1:8080/score?fast=1")[:2]
    ('http://127.0.0.1:8080/score?fast=1', 'http://127.0.0.1:8080/score')
    """
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # for example, a port that is not a number
        is_usable = False
    if not is_usable or not url.isascii() or any(character <= " " for character in url):
        raise ValueError("the address of a service must be an ASCII URL such as http://127.0.0.1:8080/score")
    user, at, place = parts.netloc.rpartition("@")
    if at and key:
        raise ValueError("a service needs either a key or the user of its URL, got both")
    authorization = f"Bearer {key}" if key else None
    if at:
        name, _, password = user.partition(":")
        pair = f"{unquote(name)}:{unquote(password)}".encode()
        authorization = f"Basic {base64.b64encode(pair).decode()}"
    whole = urlunsplit((parts.scheme, place, parts.path, parts.query, ""))
    return Address(whole, urlunsplit((parts.scheme, place, parts.path, "", "")), authorization)


def post_json(address: Address, body: bytes, *, seconds: float, max_bytes: int) -> Any:
    """Post JSON and return that of the answer. A redirect is not followed.

    Parameters
    ----------
    address : Address
    body : bytes
        The JSON.
    seconds : float
        How long to wait in total, from the lookup of the host's name to the last byte of the answer.
    max_bytes : int
        The size of the largest answer.

    Raises
    ------
    ServerError
        If the status of the answer is not a success. Its detail is the beginning of the answer.
    ServerUnreachable
        If there is no answer in time. The message does not name the address.
    ValueError
        If the answer is not JSON, or too large.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if address.authorization is not None:
        headers["Authorization"] = address.authorization
    request = urllib.request.Request(address.url, body, headers, method="POST")  # noqa: S310  checked by address_of
    found: Future[Any] = Future()
    stop = _Stop()

    def work() -> None:
        try:
            found.set_result(_send(request, seconds, max_bytes, stop))
        except BaseException as error:
            found.set_exception(error)

    try:
        # No timeout of a socket covers the lookup of a name, or an answer that arrives byte by byte.
        threading.Thread(target=work, name="abound-post", daemon=True).start()
    except RuntimeError as error:
        raise ServerUnreachable(f"the request cannot be sent: {error}") from None
    try:
        return found.result(seconds)
    except TimeoutError:
        raise ServerUnreachable(f"no answer in {seconds:g} s") from None
    except http.client.HTTPException as error:
        raise ServerUnreachable(f"the answer is not valid HTTP ({type(error).__name__})") from None
    except OSError as error:
        raise ServerUnreachable(str(getattr(error, "reason", "") or error) or type(error).__name__) from None
    finally:
        stop.stop()


def _send(request: urllib.request.Request, seconds: float, max_bytes: int, stop: "_Stop") -> Any:
    opener = urllib.request.build_opener(_WithoutRedirects(), _Plain(stop), _Encrypted(stop))
    try:
        with opener.open(request, timeout=seconds) as answer:
            raw = answer.read(max_bytes + 1)
            if len(raw) > max_bytes:
                raise ValueError(f"the answer is larger than {max_bytes:,} bytes")
            if answer.length:  # bytes that were announced and not sent
                raise http.client.IncompleteRead(b"", answer.length)
    except urllib.error.HTTPError as error:
        with error:
            raise ServerError(error.code, _text_of(error)) from None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("the answer is not JSON") from None


def _text_of(error: urllib.error.HTTPError) -> str:
    """Return what a server says about an error, which often names the reason."""
    said = ""
    with contextlib.suppress(OSError, http.client.HTTPException):
        said = error.read(SHOWN).decode("utf-8", "replace")
    shown = "".join(one if one.isprintable() else " " for one in said)
    return " ".join(shown.split()) or http.client.responses.get(error.code, "unknown status")


class _Stop:
    """End the use of a connection from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_stopped = False

    def watch(self, connected: socket.socket) -> None:
        """Remember a socket; TimeoutError if it is needed no longer."""
        with self._lock:
            if self._is_stopped:
                connected.close()
                raise TimeoutError
            self._socket = connected

    def stop(self) -> None:
        """End what waits for the socket, now or later."""
        with self._lock:
            self._is_stopped = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # it is closed
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # the method of a TLS socket would wait


class _Connection(http.client.HTTPConnection):
    """A connection that can be stopped."""

    def __init__(self, host: str, *, stop: _Stop, **settings: Any) -> None:
        super().__init__(host, **settings)
        self._stop = stop

    def connect(self) -> None:
        """Connect, unless the request was stopped meanwhile."""
        super().connect()
        self._stop.watch(self.sock)


class _EncryptedConnection(_Connection, http.client.HTTPSConnection):
    """The same with TLS."""


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, stop: _Stop) -> None:
        super().__init__()
        self._stop = stop

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a connection that can be stopped."""
        return self.do_open(functools.partial(_Connection, stop=self._stop), req)


class _Encrypted(urllib.request.HTTPSHandler):
    def __init__(self, stop: _Stop) -> None:
        super().__init__(context=_tls())
        self._stop = stop

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a connection that can be stopped."""
        return self.do_open(functools.partial(_EncryptedConnection, stop=self._stop, context=_tls()), req)


class _WithoutRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: it would send the text and the key to another service."""


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()  # takes milliseconds, because it reads the certificates
