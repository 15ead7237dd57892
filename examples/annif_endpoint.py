"""Serve subject suggestions from a model to Annif, through Annif's `http` back end.

    python examples/annif_endpoint.py MODEL [PORT]

In Annif's projects.cfg, define a project, which can also be a source of an ensemble:

    [abound-en]
    name=abound
    language=en
    backend=http
    vocab=yso
    endpoint=http://localhost:8100/suggest

The model's labels must be the URIs of Annif's vocabulary. Annif posts a form with `text` and expects results with
`uri`, `label` and a `score` from 0 to 1. This is the probability of the label. A model that has learned too few texts
for probabilities sends a score x as x / (1 + x), which keeps the order.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from abound import Tagger

MOST_BYTES = 20_000_000
LIMIT = 10


def suggestions(tagger: Tagger, text: str, limit: int = LIMIT) -> list[dict[str, Any]]:
    """Return the best labels of a text in Annif's format."""
    found = []
    for entry in tagger.rank(text, limit):
        likely = max(entry.score, 0) / (1 + max(entry.score, 0)) if entry.probability is None else entry.probability
        if likely > 0:
            found.append({"uri": str(entry.label), "label": tagger.name_of(entry.label), "score": likely})
    return found


class Endpoint(BaseHTTPRequestHandler):
    """Answer Annif's two requests: whether the model is trained, and the subjects of a text."""

    tagger: Tagger
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Report that the model is trained."""
        self._answer(200, {"is_trained": True, "labels": self.tagger.n_labels})

    def do_POST(self) -> None:
        """Rank the text of a form."""
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 < length <= MOST_BYTES:
            self.close_connection = True
            self._answer(413 if length else 411, {"error": f"send a form of 1 to {MOST_BYTES:,} bytes"})
            return
        form = parse_qs(self.rfile.read(length).decode("utf-8", "replace"))
        text, limit = form.get("text", [""])[0], form.get("limit", [str(LIMIT)])[0]
        if not limit.isdigit() or not 1 <= int(limit) <= 100:
            self._answer(400, {"error": f"limit must be a number from 1 to 100, got {limit[:20]!r}"})
            return
        self._answer(200, {"results": suggestions(self.tagger, text, int(limit))})

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  http.server's own name
        """Write no log: one line per request would be the slowest part."""


def make_server(model: str, port: int = 8100) -> ThreadingHTTPServer:
    """Return a server that listens on this machine only; `serve_forever` starts it."""
    handler = type("Ranking", (Endpoint,), {"tagger": Tagger.load(model)})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


if __name__ == "__main__":
    make_server(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8100).serve_forever()
