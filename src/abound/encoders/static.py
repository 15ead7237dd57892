"""A table with a vector for each token: a text is the mean of its tokens. It needs numpy only, and no network."""

import importlib.util
import json
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from abound.encoders.base import MAX_DIMENSIONS, VectorEncoder, Vectors
from abound.encoders.subwords import Subwords, read_subwords
from abound.errors import ModelError

MAX_HEADER = 1 << 20  # bytes of a safetensors file's header
MAX_CHARACTERS = 20_000  # of a text; what follows is not encoded
TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


class StaticTable(VectorEncoder):
    """Encode texts by a table of token vectors.

    Parameters
    ----------
    name : str
        Identifies the vectors.
    table : array of shape (n_tokens, dimensions)
    subwords : Subwords
        How texts become tokens.
    """

    def __init__(self, name: str, table: NDArray[np.floating], subwords: Subwords) -> None:
        self.name = name
        self._table: Vectors = np.ascontiguousarray(table, np.float32)
        self._subwords = subwords
        self.dimensions = self._table.shape[1]

    def raw(self, texts: list[str]) -> Vectors:
        """Return the mean of the vectors of each text's tokens."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            tokens = [one for one in self._subwords.tokens_of(text[:MAX_CHARACTERS]) if one < len(self._table)]
            if tokens:
                rows[number] = self._table[tokens].sum(axis=0, dtype=np.float64) / len(tokens)
        return rows


def load_table(path: Path) -> StaticTable:
    """Load a directory with `tokenizer.json` and one table in a `.safetensors` or `.npy` file, as model2vec writes it.

    Raises
    ------
    ModelError
        If the directory has something else.
    """
    tables = [*path.glob("*.safetensors"), *path.glob("*.npy")]
    if not path.is_dir() or len(tables) != 1:
        raise ModelError(f"{path} must be a directory with tokenizer.json and one .safetensors or .npy file")
    return _open(path.name, tables[0], path / "tokenizer.json")


def find_wordllama() -> StaticTable:
    """Load the table of the installed package wordllama; ImportError if it is not installed."""
    found = importlib.util.find_spec("wordllama")
    if found is None or found.origin is None:
        raise ImportError("this encoder is the table of a package: pip install wordllama")
    folder = Path(found.origin).parent
    weights = sorted((folder / "weights").glob("*.safetensors"))
    vocabularies = sorted((folder / "tokenizers").glob("*.json"))
    if not weights or not vocabularies:
        raise ModelError(f"{folder} has no table; another version of wordllama is needed")
    return _open("wordllama", weights[0], vocabularies[0])


def _open(name: str, weights: Path, vocabulary: Path) -> StaticTable:
    table = read_table(weights)
    if table.ndim != 2 or not 1 <= table.shape[1] <= MAX_DIMENSIONS or not np.isfinite(table).all():
        raise ModelError(f"{weights} must be a table of finite numbers with 1 to {MAX_DIMENSIONS} columns")
    return StaticTable(f"{name}-{table.shape[1]}", table, read_subwords(vocabulary))


def read_table(path: Path) -> NDArray[np.floating]:
    """Read a table from a `.npy` file, or the only one of a `.safetensors` file."""
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > MAX_HEADER:
                raise ModelError(f"{path} is not a table: its header has {length:,} bytes")
            header = json.loads(file.read(length))
            (entry,) = (value for key, value in header.items() if key != "__metadata__")
            start, stop = entry["data_offsets"]
            file.seek(8 + length + start)
            numbers = np.frombuffer(file.read(stop - start), TYPES[entry["dtype"]])
            return numbers.reshape(entry["shape"])
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(f"{path} is not a file with one table of numbers: {error!r}") from None
