"""A server whose encoder takes long, because another server encodes its texts."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from abound import Tagger
from benchmarks.served_vectors import label_of, text_of
from tests.server.http.running import Running

SLOW = 1.5  # seconds
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Embeddings(BaseHTTPRequestHandler):
    """Counts of letters, in OpenAI's format."""

    delay, asked, status = 0.0, 0, 200

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        type(self).asked += 1
        time.sleep(self.delay)
        rows = [{"index": i, "embedding": [1 + t.count(c) for c in LETTERS]} for i, t in enumerate(texts)]
        body = json.dumps({"data": rows}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def embedding_server():
    handler = type("Own", (Embeddings,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield handler, f"http://127.0.0.1:{server.server_port}/v1/embeddings#letters"
        server.shutdown()


@pytest.fixture
def served(tmp_path):
    with embedding_server() as (handler, url):
        numbers = range(200)
        tagger = Tagger(embeddings=url).fit([text_of(i) for i in numbers], [[label_of(i)] for i in numbers])
        tagger.second_opinion.blend.is_used = True
        tagger.save(tmp_path / "model")
        with Running(tmp_path / "model") as server:
            yield handler, server


def test_other_requests_are_answered_while_a_text_is_encoded(served):
    handler, server = served
    handler.delay, before = SLOW, handler.asked
    answers = []

    def rank():
        answers.append(httpx.post(f"{server.url}/v1/rank", json={"text": "a text that is new"}, timeout=30))

    ranking = threading.Thread(target=rank)
    ranking.start()
    while handler.asked == before:
        time.sleep(0.01)
    begin = time.monotonic()
    assert httpx.get(f"{server.url}/v1/model", timeout=30).status_code == 200
    assert httpx.post(f"{server.url}/v1/rank", json={"features": {"apple": 1.0}}, timeout=30).status_code == 200
    assert time.monotonic() - begin < 0.8 * SLOW
    ranking.join()
    assert answers[0].status_code == 200
    assert answers[0].json()["voters"] == ["words", "embeddings"]


def test_a_text_is_encoded_once_though_it_is_ranked_explained_and_learned(served):
    handler, server = served
    text, before = "another text that is new", handler.asked
    first = httpx.post(f"{server.url}/v1/rank", json={"text": text}, timeout=30).json()["labels"][0]["label"]
    for path, body in (("explain", {"label": first}), ("similar", {}), ("learn", {"added": ["new"]}), ("rank", {})):
        answer = httpx.post(f"{server.url}/v1/{path}", json={"text": text, **body}, timeout=30)
        assert answer.status_code == 200, answer.text
    assert answer.json()["labels"][0]["label"] == "new"
    assert handler.asked == before + 1


def test_a_failing_encoder_is_said_in_the_answer(served):
    handler, server = served
    handler.status = 500
    answer = httpx.post(f"{server.url}/v1/rank", json={"text": "a text that cannot be encoded"}, timeout=30)
    assert answer.status_code == 503, answer.text
    assert "500" in answer.json()["detail"]
    handler.status = 200
    assert httpx.post(f"{server.url}/v1/rank", json={"text": "a text that can"}, timeout=30).status_code == 200


def test_a_large_batch_does_not_keep_others_waiting(served):
    handler, server = served
    handler.delay = 0.05
    done = []

    def rank_batch():
        texts = [f"text number {number} of a batch" for number in range(60)]
        done.append(httpx.post(f"{server.url}/v1/rank/batch", json={"texts": texts}, timeout=120).status_code)

    batch = threading.Thread(target=rank_batch)
    batch.start()
    before = handler.asked
    while handler.asked < before + 3:
        time.sleep(0.01)
    waited = []
    for number in range(5):
        begin = time.monotonic()
        assert httpx.post(f"{server.url}/v1/rank", json={"text": f"single {number}"}, timeout=60).status_code == 200
        waited.append(time.monotonic() - begin)
    assert batch.is_alive()
    assert sorted(waited)[2] < 1.0
    batch.join()
    assert done == [200]
