"""An encoder behind HTTP, with the interface of OpenAI's embeddings that most servers of models have."""

import json
from typing import Any

from abound.encoders.base import VectorEncoder, found_dimensions
from abound.errors import EncoderUnavailable, ModelError, ServerError, ServerUnreachable
from abound.posting import address_of, post_json, read_key

SECONDS = 30.0
BATCH = 128  # texts of a request
MAX_ANSWER = 1 << 26  # bytes; a batch of the longest vectors has 26 MB
KEY = "ABOUND_ENCODER_KEY"  # the environment variable of its key


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

    is_slow = True

    def __init__(self, url: str, model: str = "", *, seconds: float = SECONDS) -> None:
        try:
            key = read_key(KEY)
        except ValueError as error:
            raise ModelError(str(error)) from None
        try:
            self._address = address_of(url, key)
        except ValueError as error:
            raise EncoderUnavailable(f"the URL of the encoder does not encode texts: {error}") from None
        self._model, self._seconds = model, seconds
        self.name = model or self._address.shown.partition("://")[2]
        self.dimensions = found_dimensions(self.raw, self.name)

    def raw(self, texts: list[str]) -> object:
        """Return one row of numbers per text."""
        return [row for at in range(0, len(texts), BATCH) for row in self._ask(texts[at : at + BATCH])]

    def _ask(self, texts: list[str]) -> list[Any]:
        body = json.dumps({"input": texts, **({"model": self._model} if self._model else {})}).encode()
        shown = self._address.shown
        try:
            found = post_json(self._address, body, seconds=self._seconds, max_bytes=MAX_ANSWER)["data"]
            rows = sorted(found, key=lambda one: one["index"]) if all("index" in one for one in found) else found
            vectors = [one["embedding"] for one in rows]
        except (ServerError, ServerUnreachable) as error:
            raise EncoderUnavailable(f"{shown} does not encode texts: {error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise EncoderUnavailable(f"{shown} does not answer as a server of embeddings: {error!r}") from None
        if len(vectors) != len(texts):
            raise EncoderUnavailable(f"{shown} returned {len(vectors)} vectors for {len(texts)} texts")
        return vectors
