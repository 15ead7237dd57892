"""A service that gives scores to labels, for tests."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answers(BaseHTTPRequestHandler):
    """Answer with the scores of the server's `score`, a function of the text and a label."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(question)
        time.sleep(self.server.delay)
        text = question["text"]
        scores = {label["id"]: self.server.score(text, label["id"]) for label in question["labels"]}
        raw = json.dumps({"scores": scores}).encode()
        self.close_connection = True
        with contextlib.suppress(OSError):  # nobody waits any longer
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    def log_message(self, *_):
        pass


class Scoring(ThreadingHTTPServer):
    """The service, on a free port; `asked` has its requests, and it waits for `delay` seconds."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked, self.delay, self.score = [], 0.0, lambda _text, _label: 0.0
        self.url = f"http://127.0.0.1:{self.server_port}/score"


@contextlib.contextmanager
def scoring_service():
    """Run the service."""
    with Scoring() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
