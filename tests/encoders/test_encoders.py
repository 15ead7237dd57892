"""Encoders: texts become vectors of length 1, and what is wrong is said in one sentence."""

import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from abound.encoders import CallableEncoder, RemoteEncoder, load_table, open_encoder
from abound.encoders.subwords import read_subwords
from abound.errors import EncoderUnavailable, ModelError

PAIRS = {
    "type": "BPE",
    "vocab": {
        token: number
        for number, token in enumerate(
            ["<unk>", "<0xC3>", "<0xA9>", "▁", "a", "p", "l", "e", "s", "pp", "le", "▁a", "▁app", "▁apple", "▁p"]
        )
    },
    "merges": ["p p", "l e", "▁ a", "▁a pp", "▁app le", "▁ p"],
}
PIECES = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "vocab": {
        token: number
        for number, token in enumerate(["[UNK]", "[CLS]", "[SEP]", "app", "##le", "##s", "apple", "cafe", "!", "日"])
    },
}


def write_table(path, model, table, *, safetensors=True, **described):
    path.mkdir()
    (path / "tokenizer.json").write_text(json.dumps({"model": model, **described}), "utf-8")
    if safetensors:
        raw = np.asarray(table, np.float16).tobytes()
        entry = {"dtype": "F16", "shape": np.shape(table), "data_offsets": [0, len(raw)]}
        header = json.dumps({"__metadata__": {"a": "b"}, "embeddings": entry}).encode()
        (path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + raw)
    else:
        np.save(path / "table.npy", np.asarray(table, np.float32))
    return path


def identity(model):
    return np.eye(len(model["vocab"]))


@pytest.mark.parametrize("safetensors", [True, False])
def test_a_text_is_the_mean_of_its_tokens(tmp_path, safetensors):
    encoder = open_encoder(str(write_table(tmp_path / "t", PAIRS, identity(PAIRS), safetensors=safetensors)))
    assert (encoder.name, encoder.dimensions) == ("t-15", 15)
    names = list(PAIRS["vocab"])
    (row,) = encoder.encode(["apple apples"])
    found = {names[number]: round(float(row[number]), 4) for number in np.flatnonzero(row)}
    # ▁apple twice, s once
    assert found == {"▁apple": round(2 / 5**0.5, 4), "s": round(1 / 5**0.5, 4)}
    assert encoder.encode(["", "apple"]).tolist()[0] == [0.0] * 15
    assert encoder.encode([]).shape == (0, 15)
    assert np.linalg.norm(encoder.encode(["é"])[0]) == pytest.approx(1)


def tokens(path, text):
    subwords = read_subwords(path / "tokenizer.json")
    return [name for number in subwords.tokens_of(text) for name, n in PIECES["vocab"].items() if n == number]


def test_pieces_are_the_longest_ones(tmp_path):
    path = write_table(tmp_path / "t", PIECES, identity(PIECES), normalizer={"lowercase": True})
    assert tokens(path, "Apples, CAFÉ!") == ["apple", "##s", "[UNK]", "cafe", "!"]
    assert tokens(path, "appleles pear日日") == ["apple", "##le", "##s", "[UNK]", "日", "日"]
    assert tokens(path, "a" * 1000) == ["[UNK]"]
    assert tokens(path, "app\u00adles ap\u200bples \ufffdapple") == ["apple", "##s", "apple", "##s", "apple"]
    assert tokens(path, "apple\tapple\u2028apple\u00a0apple") == ["apple"] * 4
    kept = write_table(tmp_path / "u", PIECES, identity(PIECES), normalizer={"lowercase": False})
    assert tokens(kept, "Apple apple") == ["[UNK]", "apple"]


def test_letters_become_small_each_by_itself(tmp_path):
    greek = {**PIECES, "vocab": {"[UNK]": 0, "\u03c3\u03c3": 1}}  # the second letter does not become a final one
    path = write_table(tmp_path / "t", greek, identity(greek), normalizer={"lowercase": True})
    assert read_subwords(path / "tokenizer.json").tokens_of("\u03a3\u03a3") == [1]


def test_unknown_bytes_and_long_words_do_not_fail(tmp_path):
    subwords = read_subwords(write_table(tmp_path / "t", PAIRS, identity(PAIRS)) / "tokenizer.json")
    assert subwords.tokens_of("é") == [3, 1, 2]  # a space and two bytes
    assert subwords.tokens_of("\ud800") == [3]
    assert len(subwords.tokens_of("le" * 5000)) == 5101  # the pieces of a long word are split apart
    assert subwords.tokens_of("") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: (path / "tokenizer.json").unlink(), "cannot be read"),
        (lambda path: (path / "tokenizer.json").write_text("{"), "is not a vocabulary of subwords"),
        (lambda path: (path / "tokenizer.json").write_text('{"model": {"type": "Unigram", "vocab": {}}}'), "Unigram"),
        (lambda path: (path / "model.safetensors").write_bytes(b"12345678" * 9), "is not a table"),
        (lambda path: (path / "model.safetensors").write_bytes(b"1"), "is not a file with one table"),
        (lambda path: (path / "model.safetensors").unlink(), "must be a directory with"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, change, message):
    path = write_table(tmp_path / "t", PAIRS, identity(PAIRS))
    change(path)
    with pytest.raises(ModelError, match=message):
        load_table(path)


def test_a_table_must_be_finite(tmp_path):
    table = identity(PAIRS)
    table[3, 3] = np.nan
    with pytest.raises(ModelError, match="finite"):
        load_table(write_table(tmp_path / "t", PAIRS, table))


@pytest.mark.parametrize("what", ["nothing-there", "", "https", "ftp://a/b"])
def test_what_is_no_encoder_is_said(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"is not an encoder|must be a directory"):
        open_encoder(what)


def test_a_function_encodes_and_is_checked():
    encoder = CallableEncoder(lambda texts: [[3.0, 4.0e300] for _ in texts], "f")
    assert encoder.encode(["a", "b"]).tolist() == [[0.0, 1.0], [0.0, 1.0]]
    for wrong, message in [
        ([[1.0, 2.0, 3.0]], "must return 1 x 2 numbers"),
        ([[1.0, float("inf")]], "not finite"),
        ([["a", "b"]], "must return rows of numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            CallableEncoder(lambda _, wrong=wrong: wrong, "f", 2).encode(["a"])
    with pytest.raises(ValueError, match="a row of 1 to"):
        CallableEncoder(lambda _: [1.0], "f")
    with pytest.raises(ValueError, match="the encoder f must return rows of numbers"):
        CallableEncoder(lambda _: [["a"]], "f")


def test_blank_texts_are_not_given_to_an_encoder():
    seen = []
    encoder = CallableEncoder(lambda texts: seen.extend(texts) or [[1.0] for _ in texts], "f", 1)
    assert encoder.encode(["", "a", " \n", "half \ud800", "b"]).tolist() == [[0.0], [1.0], [0.0], [1.0], [1.0]]
    assert seen == ["a", "half ?", "b"]
    assert encoder.encode(["", " "]).tolist() == [[0.0], [0.0]]
    assert len(seen) == 3


class Embeddings(BaseHTTPRequestHandler):
    """Answer as a server of embeddings; the vectors are in another order than the texts."""

    status, damage, seen, missing = 200, None, [], 0

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((body, self.headers.get("Authorization")))
        rows = [{"index": i, "embedding": [len(text), 1.0, 0.0]} for i, text in enumerate(body["input"])]
        answer = json.dumps({"data": rows[::-1]} if self.damage is None else self.damage).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(answer) + self.missing))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    handler = type("Handler", (Embeddings,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as one:
        thread = threading.Thread(target=one.serve_forever, daemon=True)
        thread.start()
        yield handler, f"http://127.0.0.1:{one.server_port}/v1/embeddings"
        one.shutdown()
        thread.join()


def test_a_server_encodes(server, monkeypatch):
    handler, url = server
    monkeypatch.setenv("ABOUND_ENCODER_KEY", "secret")
    encoder = open_encoder(f"{url}#small")
    assert (encoder.name, encoder.dimensions) == ("small", 3)
    rows = encoder.encode(["a" * n for n in range(300)])
    assert rows[4].tolist() == pytest.approx([4 / 17**0.5, 1 / 17**0.5, 0])
    assert len(handler.seen) == 4  # one to find the dimensions, three for 300 texts
    assert handler.seen[0][0]["model"] == "small"
    assert handler.seen[0][1] == "Bearer secret"
    for damage in ({"data": [{"embedding": [1.0]}]}, {"error": "no"}, [], {"data": "text"}):
        handler.damage = damage
        with pytest.raises(EncoderUnavailable, match=r"^http://127.0.0.1"):
            encoder.encode(["a", "b"])
    handler.damage, handler.status = {"error": "no such model"}, 404
    with pytest.raises(EncoderUnavailable, match=r"404.*no such model"):
        encoder.encode(["a"])
    handler.damage, handler.status, handler.missing = None, 200, 9
    with pytest.raises(EncoderUnavailable, match="does not encode texts"):
        encoder.encode(["a"])


@pytest.mark.parametrize("key", ["sec\nret", "sécret"])
def test_a_key_is_checked_and_never_shown(server, monkeypatch, key):
    handler, url = server
    monkeypatch.setenv("ABOUND_ENCODER_KEY", "secret\r\n")
    assert open_encoder(url).dimensions == 3
    assert handler.seen[0][1] == "Bearer secret"
    monkeypatch.setenv("ABOUND_ENCODER_KEY", key)
    with pytest.raises(ModelError, match=r"^ABOUND_ENCODER_KEY must consist of printable ASCII characters$"):
        open_encoder(url)


def test_a_server_that_is_away_is_said():
    with pytest.raises(EncoderUnavailable, match="does not encode texts"):
        RemoteEncoder("http://127.0.0.1:9/v1/embeddings")
    with pytest.raises(EncoderUnavailable, match="does not encode texts"):
        RemoteEncoder("http://127.0.0.1:port/v1/embeddings")


def test_credentials_are_sent_but_are_not_in_the_name(server):
    handler, url = server
    encoder = open_encoder(url.replace("://", "://me:s3cret@") + "?key=hidden")
    assert encoder.name == url.removeprefix("http://")
    assert handler.seen[0][1].startswith("Basic ")
    handler.status = 500
    with pytest.raises(EncoderUnavailable) as failed:
        encoder.encode(["a"])
    assert "s3cret" not in str(failed.value)
    assert "hidden" not in str(failed.value)
