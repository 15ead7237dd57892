"""Encoders that run a network: sentence-transformers, and models in ONNX's format."""

from pathlib import Path
from typing import Any

import numpy as np

from abound.encoders.base import VectorEncoder, Vectors, found_dimensions
from abound.encoders.subwords import read_subwords
from abound.errors import ModelError

MAX_TOKENS = 256  # of a text; what follows is not encoded
BATCH = 64  # texts


class SentenceTransformerEncoder(VectorEncoder):
    """Encode texts by a model of sentence-transformers.

    Parameters
    ----------
    model : str
        A directory, or the name of a model that was downloaded before.
    download : bool
        Whether a model that is not on this machine may be downloaded.
    """

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
        self.dimensions = int(self._model.get_sentence_embedding_dimension())

    def raw(self, texts: list[str]) -> Vectors:
        """Return one row of numbers per text."""
        rows: Vectors = self._model.encode(texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
        return rows


class OnnxEncoder(VectorEncoder):
    """Encode texts by a transformer in ONNX's format, whose last states are averaged over the tokens.

    Parameters
    ----------
    path : path
        A directory with `tokenizer.json` (WordPiece) and `model.onnx`.
    """

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
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._first, self._last = self._subwords.number("[CLS]"), self._subwords.number("[SEP]")
        self.name = path.name
        self.dimensions = found_dimensions(self.raw, self.name)

    def raw(self, texts: list[str]) -> Vectors:
        """Return one row of numbers per text."""
        return np.concatenate([self._encode(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])

    def _encode(self, texts: list[str]) -> Vectors:
        rows = [self._tokens(text) for text in texts]
        shape = (len(rows), max(map(len, rows)))
        tokens, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for number, row in enumerate(rows):
            tokens[number, : len(row)], mask[number, : len(row)] = row, 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros(shape, np.int64)}
        states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        weights = mask[:, :, None].astype(np.float32)
        mean: Vectors = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return mean

    def _tokens(self, text: str) -> list[int]:
        around = (self._first is not None) + (self._last is not None)
        tokens = self._subwords.tokens_of(text)[: MAX_TOKENS - around]
        first = [] if self._first is None else [self._first]
        last = [] if self._last is None else [self._last]
        return [*first, *tokens, *last] or [0]
