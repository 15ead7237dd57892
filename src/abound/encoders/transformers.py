"""Encoders that run a network: sentence-transformers, and models in ONNX's format."""

from pathlib import Path
from typing import Any

import numpy as np

from abound.encoders.base import VectorEncoder, Vectors, found_dimensions
from abound.encoders.subwords import read_subwords
from abound.errors import ModelError

MAX_TOKENS = 256  # of a text; what follows is not encoded
MAX_CHARACTERS = 20_000  # of a text; so that a long text is not split for nothing
BATCH = 8  # texts of sentence-transformers, which sorts them by length; larger batches are padded more
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class SentenceTransformerEncoder(VectorEncoder):
    """Encode texts by a model of sentence-transformers.

    Parameters
    ----------
    model : str
        A directory, or the name of a model that was downloaded before.
    download : bool
        Whether a model that is not on this machine may be downloaded.
    """

    is_slow = True

    def __init__(self, model: str, *, download: bool = False) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise ImportError("this encoder needs sentence-transformers: pip install sentence-transformers") from None
        try:
            self._model: Any = SentenceTransformer(model, device="cpu", local_files_only=not download)
        except (OSError, ValueError) as error:
            raise ModelError(f"{model} is not a model of sentence-transformers on this machine: {error}") from None
        self.name = Path(model).name
        self.dimensions = found_dimensions(self.raw, self.name)

    def raw(self, texts: list[str]) -> Vectors:
        """Return one row of numbers per text."""
        rows: Vectors = self._model.encode(texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
        return rows


class OnnxEncoder(VectorEncoder):
    """Encode texts by a transformer in ONNX's format, whose last states are averaged over the tokens.

    A text is encoded by itself. On one core, batches are not faster, and padding makes them slower. In a model with
    8-bit weights, the vector of a text would depend on the other texts of its batch.

    Parameters
    ----------
    path : path
        A directory with `tokenizer.json` (WordPiece) and `model.onnx`.
    """

    is_slow = True

    def __init__(self, path: Path) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ImportError("this encoder needs ONNX Runtime: pip install onnxruntime") from None
        self._subwords = read_subwords(path / "tokenizer.json")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # equal results, and no competition with the server's threads
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the package has its own classes for each reason
            raise ModelError(f"{path / 'model.onnx'} cannot be used: {error}") from None
        self._inputs = [one.name for one in self._session.get_inputs()]
        if not set(self._inputs) <= set(INPUTS):
            raise ModelError(f"{path / 'model.onnx'} must have the inputs {', '.join(INPUTS)}, got {self._inputs}")
        self._first, self._last = self._subwords.number("[CLS]"), self._subwords.number("[SEP]")
        self.name = path.name
        try:
            self.dimensions = found_dimensions(self.raw, self.name)
        except Exception as error:  # the same classes
            raise ModelError(f"{path / 'model.onnx'} cannot encode a text: {error}") from None

    def raw(self, texts: list[str]) -> Vectors:
        """Return one row of numbers per text."""
        return np.stack([self._encode(text) for text in texts])

    def _encode(self, text: str) -> Vectors:
        tokens = np.array([self._tokens(text)], np.int64)
        given = dict(zip(INPUTS, (tokens, np.ones_like(tokens), np.zeros_like(tokens)), strict=True))
        states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        row: Vectors = states[0] if states.ndim == 2 else states[0].mean(axis=0)  # some models average by themselves
        return row

    def _tokens(self, text: str) -> list[int]:
        first, last = ([] if one is None else [one] for one in (self._first, self._last))
        tokens = self._subwords.tokens_of(text[:MAX_CHARACTERS])[: MAX_TOKENS - len(first) - len(last)]
        return [*first, *tokens, *last] or [0]
