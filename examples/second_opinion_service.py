"""A service for `abound serve --second-opinion`: scores are the similarity of a label's name to the text.

    pip install wordllama
    python examples/second_opinion_service.py --port 8600

The score is the cosine of two vectors. To use another model, such as a cross-encoder or a language model, replace
`score`.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from abound.encoders import VectorEncoder, open_encoder

MAX_BODY = 1 << 24  # bytes


def score(encoder: VectorEncoder, text: str, names: list[str]) -> list[float]:
    """Return how well each name fits a text; a larger number is better."""
    vectors = encoder.encode([text, *names])
    return [float(one) for one in vectors[1:] @ vectors[0]]


class Service(BaseHTTPRequestHandler):
    """Answer `{"text": ..., "labels": [{"id": ..., "name": ...}, ...]}` with `{"scores": {id: number, ...}}`."""

    encoder: ClassVar[VectorEncoder]

    def do_POST(self) -> None:
        """Score the labels of a request."""
        try:
            length = int(self.headers.get("Content-Length", "0"))
            if not 0 < length <= MAX_BODY:
                raise ValueError(f"the body must have 1 to {MAX_BODY:,} bytes")
            question = json.loads(self.rfile.read(length))
            text, labels = question["text"], question["labels"]
            scores = score(self.encoder, text, [one["name"] for one in labels])
            answer = {"scores": {one["id"]: value for one, value in zip(labels, scores, strict=True)}}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._send(400, {"detail": repr(error)})
        else:
            self._send(200, answer)

    def _send(self, status: int, content: dict[str, Any]) -> None:
        raw = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Log nothing per request."""


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Score label names by their similarity to a text.")
    parser.add_argument("--encoder", default="wordllama", help="a name or path for abound.encoders.open_encoder")
    parser.add_argument("--port", type=int, default=8600, help="0 for any free port")
    options = parser.parse_args()
    Service.encoder = open_encoder(options.encoder)
    with ThreadingHTTPServer(("127.0.0.1", options.port), Service) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
