"""Call a server over HTTP, without the client."""

import json
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen


def _request(server, path, body, method, key, idempotency, query):
    raw = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
    headers |= {} if idempotency is None else {"Idempotency-Key": idempotency}
    return Request(f"{server.url}{path}?{urlencode(query)}", raw, headers, method=method)  # noqa: S310


def ask(server, path, body=None, method=None, *, key=None, idempotency=None, **query):
    """Return the status and the JSON of an answer."""
    try:
        with urlopen(_request(server, path, body, method, key, idempotency, query), timeout=60) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def fetch(server, path, **query):
    """Return the bytes of an answer."""
    with urlopen(_request(server, path, None, None, None, None, query), timeout=60) as answer:  # noqa: S310
        return answer.read()
