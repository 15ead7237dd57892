"""The OpenAPI document names every route, and requests generated from it never break the server."""

import json
import sys

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode, checks

from abound.server import Home
from abound.server.http.app import ENDPOINTS
from abound.server.http.bodies import NoParameters
from abound.server.http.openapi import openapi
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base

CONFORMS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


def test_the_document_names_every_route_and_every_route_is_in_it(tmp_path):
    async def conversation(client):
        document = (await client.get("/openapi.json")).json()
        answers = {}
        for path in document["paths"]:
            for method in ("get", "post", "put", "patch", "delete"):
                body = {"headers": {"content-type": "application/json"}, "content": b"{}"} if method != "get" else {}
                answers[path, method] = (await client.request(method.upper(), path, **body)).status_code
        return document, answers

    document, answers = talk(Home.create(tmp_path / "home", base()), conversation)
    assert {(method, path) for path, operations in document["paths"].items() for method in operations} == {
        (endpoint.method.lower(), endpoint.path) for endpoint in ENDPOINTS
    }
    for (path, method), status in answers.items():
        assert (status == 405) == (method not in document["paths"][path]), (path, method, status)
        assert status == 405 or str(status) in document["paths"][path][method]["responses"]
    assert json.dumps(document).count('"$ref"') > 10


@pytest.mark.parametrize("path", ["/v1/records", "/v1/records?format=jsonl"])
def test_the_media_types_of_an_answer_are_documented(tmp_path, path):
    async def conversation(client):
        return (await client.get("/openapi.json")).json(), (await client.get(path)).headers["content-type"]

    document, media_type = talk(Home.create(tmp_path / "home", base()), conversation)
    assert media_type in document["paths"]["/v1/records"]["get"]["responses"]["200"]["content"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = Home.create(tmp_path_factory.mktemp("served") / "home", base())
    with Running(home.path) as server:
        yield server


@pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal")
@pytest.mark.parametrize("examples", [15, pytest.param(1250, marks=pytest.mark.slow)])  # of each mode: 2,500 a route
@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_whatever_fits_the_document_or_does_not_is_answered(server, endpoint, mode, examples):
    schema = schemathesis.openapi.from_dict(openapi(ENDPOINTS, "0"))
    operation = schema[endpoint.path][endpoint.method]
    if mode is GenerationMode.NEGATIVE and endpoint.request is NoParameters:
        pytest.skip("there is nothing to be said wrongly")

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(operation.as_strategy(generation_mode=mode))
    def run(case):
        case.call_and_validate(base_url=server.url, checks=CONFORMS)

    run()
    assert server.process.poll() is None
