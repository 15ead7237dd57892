"""The page /docs shows every endpoint, and its examples are valid."""

import json
import re
import shlex
import sys
from functools import cache
from html.parser import HTMLParser

import httpx
import msgspec
import pytest

from abound import Tagger
from abound.server import Home
from abound.server.http.app import ENDPOINTS, make_app
from abound.server.http.keys import KeyAuthenticator, KeyFile
from abound.server.http.openapi import FORM, openapi, openapi_of_models
from abound.server.http.pages import POLICY
from abound.server.http.reference import ADDRESS, reference_page
from abound.version import __version__
from tests.server.http.asgi import talk
from tests.server.http.running import Running

VOID = {"meta", "link", "br", "img"}
TEXTS = ["growing roses in a cold climate", "a beginner's guide to chess", "pruning roses", "chess openings"] * 12
LABELS = [["roses", "climate changes"], ["chess"], ["roses"], ["chess"]] * 12


class Page(HTMLParser):
    """The ids, links and blocks of a page; it fails if tags are not closed in order."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.ids, self.links, self.loaded, self.blocks, self._open = [], [], [], [], []
        self.feed(page.decode())
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        assert not any(name.startswith("on") or name == "style" for name in found)
        assert tag not in ("script", "style")
        if "id" in found:
            self.ids.append(found["id"])
        if "href" in found:
            (self.loaded if tag == "link" else self.links).append(found["href"])
        if tag == "pre":
            self.blocks.append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "pre" in self._open:
            self.blocks[-1] += data


@pytest.mark.parametrize("make", [openapi, openapi_of_models])
def test_every_endpoint_has_a_section_and_every_link_a_target(make):
    document = make(ENDPOINTS, "1.2")
    page = Page(reference_page(document))
    assert len(set(page.ids)) == len(page.ids)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    methods = sum(
        method in item for item in document["paths"].values() for method in ("get", "post", "put", "patch", "delete")
    )
    sections = [one for one in page.ids if not one.startswith("type-")]
    assert len(sections) == len(page.blocks) == methods
    assert page.loaded == ["static/icon.svg", "static/reference.css"]
    assert [link for link in page.links if not link.startswith("#")] == ["openapi.json"]


def test_strings_of_the_document_are_escaped():
    document = openapi(ENDPOINTS, "<script>")
    document["paths"]["/v1/rank"]["post"]["summary"] = "Rank <b>labels</b> with `k < 3`"
    page = reference_page(document)
    assert b"<script>" not in page
    assert b"Rank &lt;b&gt;labels&lt;/b&gt; with <code>k &lt; 3</code>." in page


@cache
def examples():
    """Return the examples of the page by method and path."""
    page = Page(reference_page(openapi(ENDPOINTS, "1")))
    pairs = [(endpoint.method, endpoint.path) for endpoint in ENDPOINTS]
    found = {}
    for block in page.blocks:
        words = shlex.split(block)
        url = words[-1]
        assert url.startswith(ADDRESS)
        method = words[words.index("--request") + 1] if "--request" in words else None
        has_body = any(word in words for word in ("--json", "--data-urlencode", "--data-binary"))
        path = url.removeprefix(ADDRESS).partition("?")[0].replace("/subjects", "/{model}")
        pair = (method or ("POST" if has_body else "GET"), path)
        assert pair in pairs
        found[pair] = words
    assert len(found) == len(pairs)
    return found


def body_of(words):
    if "--json" in words:
        return words[words.index("--json") + 1]
    return dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--data-urlencode")


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if one.has_body and not one.media_types], ids=lambda one: one.name
)
def test_a_body_has_the_type_of_its_endpoint(endpoint):
    body = body_of(examples()[endpoint.method, endpoint.path])
    if endpoint.form:
        msgspec.convert(body, endpoint.request, strict=False)
    else:
        assert endpoint.decoder.decode(body) is not None
        if isinstance(json.loads(body), dict):
            assert set(json.loads(body)) <= set(endpoint.request.__struct_fields__)


# In an order in which each finds what it needs. A refit needs files, feedback needs bands, and an undo other processes.
CALLED = [
    *(one for one in ENDPOINTS if one.path == "/v1/learn"),
    *(
        one
        for one in ENDPOINTS
        if one.method == "POST" and one.path in ("/v1/queues", "/v1/queue/next", "/v1/queue/decide")
    ),
    *(
        one
        for one in ENDPOINTS
        if not one.path.startswith("/v1/queue")
        and one.path not in ("/v1/learn", "/v1/refit", "/v1/feedback", "/v1/undo", "/v1/forget", "/v1/text")
    ),
]


def test_the_examples_are_answered(tmp_path):
    home = Home.create(tmp_path / "home", Tagger(embeddings="words").fit(TEXTS, LABELS))

    async def conversation(client):
        client.app.service.name = "subjects"
        answers = {}
        for endpoint in CALLED:
            words = examples()[endpoint.method, endpoint.path]
            content = {}
            if endpoint.has_body:
                body = body_of(words)
                content = (
                    {"data": body}
                    if endpoint.form
                    else {"content": body, "headers": {"content-type": "application/json"}}
                )
                assert endpoint.form == (FORM in str(openapi((endpoint,), "1")))
            answer = await client.request(endpoint.method, words[-1].removeprefix(ADDRESS), **content)
            answers[endpoint.name] = (answer.status_code, answer.text[:300])
        return answers

    answers = talk(home, conversation)
    assert {name: answer for name, answer in answers.items() if answer[0] not in (200, 201, 204)} == {}


def test_the_page_needs_no_key_and_loads_nothing_else(tmp_path):
    home = Home.create(tmp_path / "home", Tagger().fit(TEXTS, LABELS))
    KeyFile(home.path).add("me", "read")

    async def conversation(client):
        app = make_app(client.app.service, KeyAuthenticator(KeyFile(home.path)))
        client._transport.app = app
        page = await client.get("/docs", headers={"accept-encoding": "identity"})
        style = await client.get("/static/reference.css")
        again = await client.get("/docs", headers={"if-none-match": page.headers["etag"]})
        refused = await client.get("/v1/model")
        return page, style, again, refused

    page, style, again, refused = talk(home, conversation)
    assert (page.status_code, style.status_code, again.status_code, refused.status_code) == (200, 200, 304, 401)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == POLICY.decode()
    assert page.content == reference_page(openapi(ENDPOINTS, __version__))
    colours = re.findall(r"--([a-z-]+): #", style.text)
    assert sorted(colours[: len(colours) // 2]) == sorted(colours[len(colours) // 2 :])  # light and dark
    assert "url(" not in style.text


@pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal")
def test_a_library_has_the_page_too(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    Tagger().fit(TEXTS, LABELS).save(library / "subjects")
    with Running(f"--library={library}") as server:
        page = httpx.get(f"{server.url}/docs")
        assert page.status_code == 200
        assert page.content == reference_page(openapi_of_models(ENDPOINTS, __version__))
        assert httpx.get(f"{server.url}/static/reference.css").status_code == 200
        assert "/v1/models/{model}/rank" in page.text
        assert httpx.get(f"{server.url}/models/subjects/docs").content == page.content
