"""An encoder behind HTTP, with the interface of OpenAI's embeddings that most servers of models have."""

import http.client
import json
import os
import urllib.error
import urllib.request
from typing import Any

from abound.encoders.base import VectorEncoder, found_dimensions
from abound.errors import EncoderUnavailable, ModelError

SECONDS = 30.0
BATCH = 128  # texts of a request
KEY = "ABOUND_ENCODER_KEY"  # the environment variable of its key
SHOWN = 200  # bytes of an error's text


class RemoteEncoder(VectorEncoder):
    """Encode texts by a server.

    Parameters
    ----------
    url : str
        The address of the embeddings, such as `http://127.0.0.1:8080/v1/embeddings`.
    model : str, optional
        The name of the model, which some servers need.
    seconds : float
        How long to wait for an answer.
    """

    def __init__(self, url: str, model: str = "", *, seconds: float = SECONDS) -> None:
        self._url, self._model, self._seconds = url, model, seconds
        self.name = model or url.partition("://")[2].partition("?")[0]
        self.dimensions = found_dimensions(self.raw, self.name)

    def raw(self, texts: list[str]) -> object:
        """Return one row of numbers per text."""
        return [row for at in range(0, len(texts), BATCH) for row in self._ask(texts[at : at + BATCH])]

    def _ask(self, texts: list[str]) -> list[Any]:
        body = {"input": texts, **({"model": self._model} if self._model else {})}
        headers = {"Content-Type": "application/json", **_authorization()}
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310  checked when opened
        try:
            with urllib.request.urlopen(request, timeout=self._seconds) as answer:  # noqa: S310
                found = json.load(answer)["data"]
            rows = sorted(found, key=lambda one: one["index"]) if all("index" in one for one in found) else found
            vectors = [one["embedding"] for one in rows]
        except urllib.error.HTTPError as error:
            raise EncoderUnavailable(f"{self._url} does not encode texts: {error}{_text_of(error)}") from None
        except (OSError, http.client.HTTPException) as error:
            raise EncoderUnavailable(f"{self._url} does not encode texts: {error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise EncoderUnavailable(f"{self._url} does not answer as a server of embeddings: {error!r}") from None
        if len(vectors) != len(texts):
            raise EncoderUnavailable(f"{self._url} returned {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def _authorization() -> dict[str, str]:
    """Return the header with the key, if there is one; a key is never part of a message."""
    key = os.environ.get(KEY, "").strip()
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"{KEY} must consist of printable ASCII characters")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _text_of(error: urllib.error.HTTPError) -> str:
    """Return what a server says about an error, which often names the reason."""
    try:
        said = " ".join(error.read(SHOWN).decode("utf-8", "replace").split())
    except (OSError, http.client.HTTPException):
        return ""
    return f" ({said})" if said else ""
