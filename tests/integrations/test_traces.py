"""OpenTelemetry, unmodified: its exporter sends the spans of a real server to a receiver of OTLP over HTTP."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import abound
from abound import Tagger
from abound.errors import pip_install
from benchmarks.peers.environments import interpreter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal"),
]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
# Prints its port, then each span that it receives as a line of JSON.
RECEIVER = """
import gzip, json
from http.server import BaseHTTPRequestHandler, HTTPServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

def values(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    print(json.dumps({
                        "path": self.path, "resource": values(resource.resource.attributes), "scope": scope.scope.name,
                        "name": span.name, "kind": span.kind, "trace": span.trace_id.hex(),
                        "parent": span.parent_span_id.hex(), "attributes": values(span.attributes),
                        "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                        "start": span.start_time_unix_nano / 1e9, "status": span.status.code,
                    }), flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def python() -> str:
    return interpreter("traces", Path(__file__).parent)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return variables with which the interpreter finds this abound, and nothing else of this environment."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "abound").symlink_to(Path(abound.__file__).parent)
    (tmp_path / "path" / "abound.dist-info").mkdir()
    (tmp_path / "path" / "abound.dist-info" / "METADATA").write_text(f"Name: abound\nVersion: {abound.__version__}\n")
    others = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return {**others, "PYTHONPATH": str(tmp_path / "path"), "PYTHONDONTWRITEBYTECODE": "1"}


class Server:
    """`abound serve --traces` in the environment of the packages."""

    def __init__(self, python, model, environment, *arguments):
        command = [python, "-m", "abound", "serve", model, "--port", 0, "--traces", *arguments]
        self.process = subprocess.Popen(
            list(map(str, command)), env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        said = []
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"on (http://\S+)", line):
                self.url = found[1]
                return
        raise AssertionError(f"the server ended with code {self.process.wait(60)}: {said}")

    def stop(self):
        """End it; return what it wrote since the start, and how long that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=60)[1]
        assert self.process.returncode == 0, said
        return said, time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()


@pytest.fixture
def model(tmp_path):
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(tmp_path / "subjects")
    return tmp_path / "subjects"


@pytest.mark.parametrize("workers", [1, 2])
def test_each_request_is_a_span_that_continues_the_clients_trace(python, environment, model, workers):
    receiver = subprocess.Popen([python, "-c", RECEIVER], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        port = int(receiver.stdout.readline())
        variables = {**environment, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        with Server(python, model, variables, "--workers", workers) as server:
            began = time.time()
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-Id": "mine", "User-Agent": "tests"}
            answer = httpx.post(f"{server.url}/v1/rank?x", json={"text": "apple"}, headers=headers)
            size = len(answer.content)
            httpx.get(f"{server.url}/nowhere")
            httpx.get(f"{server.url}/v1/model", headers={**headers, "traceparent": f"00-{TRACE}-{PARENT}-00"})
            server.stop()
        receiver.terminate()
        spans = [json.loads(line) for line in receiver.communicate(timeout=30)[0].splitlines()]
    finally:
        receiver.kill()
        receiver.communicate()
    rank = next(span for span in spans if span["name"] == "POST /v1/rank")
    assert (rank["path"], rank["kind"], rank["trace"], rank["parent"]) == ("/v1/traces", 2, TRACE, PARENT)
    assert rank["resource"]["service.name"] == "abound"
    expected = {"http.request.method": "POST", "url.path": "/v1/rank", "http.route": "/v1/rank", "url.scheme": "http"}
    expected |= {
        "http.response.status_code": "200",
        "http.response.body.size": str(size),
        "client.address": "127.0.0.1",
    }
    expected |= {"network.protocol.version": "1.1", "abound.request_id": "mine", "user_agent.original": "tests"}
    assert {name: str(value) for name, value in rank["attributes"].items()} == expected
    assert 0 < rank["seconds"] < 10
    assert began - 1 < rank["start"] < began + 10
    [unknown] = [span for span in spans if span["name"] == "GET" and span["attributes"]["url.path"] == "/nowhere"]
    assert "http.route" not in unknown["attributes"]
    assert unknown["parent"] == ""
    assert not any(span["name"] == "GET /v1/model" for span in spans)  # the client does not sample it


def test_a_collector_that_is_down_delays_nothing(python, environment, model):
    variables = {**environment, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_BSP_SCHEDULE_DELAY": "100"}
    variables["OTEL_BSP_MAX_QUEUE_SIZE"] = variables["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] = "64"
    with Server(python, model, variables) as server, httpx.Client(base_url=server.url) as client:
        slowest = 0.0
        for _ in range(1000):  # many more than the queue holds
            began = time.perf_counter()
            assert client.post("/v1/rank", json={"text": "apple"}).status_code == 200
            slowest = max(slowest, time.perf_counter() - began)
        assert slowest < 1
        assert server.stop()[1] < 10


def test_a_missing_package_is_named(model, environment, python, tmp_path):
    (tmp_path / "path" / "opentelemetry").mkdir()
    (tmp_path / "path" / "opentelemetry" / "__init__.py").write_text("raise ImportError('not installed')")
    command = [python, "-m", "abound", "serve", model, "--traces"]
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == f"abound: traces need opentelemetry: {pip_install('traces')}\n"
