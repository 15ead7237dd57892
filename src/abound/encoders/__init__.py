"""Encoders: how a text becomes a vector. None of them is needed unless neighbours are used."""

from pathlib import Path

from abound.encoders.base import CallableEncoder, VectorEncoder
from abound.encoders.given import PREFIX, GivenVectors
from abound.encoders.hashed import WORDS, HashedWords
from abound.encoders.remote import RemoteEncoder
from abound.encoders.static import StaticTable, find_wordllama, load_table
from abound.encoders.transformers import OnnxEncoder, SentenceTransformerEncoder
from abound.errors import ModelError

__all__ = [
    "CallableEncoder",
    "GivenVectors",
    "HashedWords",
    "OnnxEncoder",
    "RemoteEncoder",
    "SentenceTransformerEncoder",
    "StaticTable",
    "VectorEncoder",
    "load_table",
    "open_encoder",
]

SENTENCE = "sentence-transformers:"


def open_encoder(what: str, *, download: bool = False) -> VectorEncoder:
    """Open an encoder by a path or a name.

    Parameters
    ----------
    what : str
        "words", the words of a text, only to show similar texts; "wordllama", the table of that package; a directory
        with `tokenizer.json` and a table of token vectors, with `model.onnx`, or with a model of sentence-transformers;
        `sentence-transformers:NAME`; the URL of a server of embeddings, with the name of a model after `#`; or
        `given:N` for vectors of N numbers that are given with each text, see `GivenVectors`.
    download : bool
        Whether a model of sentence-transformers that is not on this machine may be downloaded.

    Raises
    ------
    ModelError
        If there is no such encoder.
    ImportError
        If a package is missing.
    """
    if what == WORDS:
        return HashedWords()
    if what == "wordllama":
        return find_wordllama()
    if what.startswith(("http://", "https://")):
        url, _, model = what.partition("#")
        return RemoteEncoder(url, model)
    if what.startswith(SENTENCE):
        return SentenceTransformerEncoder(what.removeprefix(SENTENCE), download=download)
    if what.startswith(PREFIX):
        try:
            return GivenVectors.from_name(what)
        except ValueError as error:
            raise ModelError(str(error)) from None
    path = Path(what)
    if (path / "model.onnx").is_file():
        return OnnxEncoder(path)
    if (path / "modules.json").is_file():
        return SentenceTransformerEncoder(what)
    if path.is_dir():
        return load_table(path)
    raise ModelError(
        f"{what} is not an encoder: name words, wordllama, a directory, {SENTENCE}NAME, "
        "or the URL of a server of embeddings"
    )
