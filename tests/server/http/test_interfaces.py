"""The protocols of other tools: Annif, KServe and OpenRefine, without a network."""

import json

import pytest

from abound import Tagger
from abound.hierarchy import Hierarchy
from abound.server import Home
from abound.server.http.settings import OPENREFINE
from abound.server.http.suggesting import descending
from tests.server.http.asgi import talk

NAMES = {"fruit": ["Fruit", "fruits"], "vehicle": ["Vehicle"]}


@pytest.fixture
def home(tmp_path):
    tagger = Tagger(language="en").fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]], label_names=NAMES)
    return Home.create(tmp_path / "subjects.served", tagger)


def ask(home, method, path, origins=(), **options):
    async def conversation(client):
        return await client.request(method, path, **options)

    return talk(home, conversation, origins=origins)


# -- Annif -------------------------------------------------------------------------------------------


def test_annif_suggests_by_a_form(home):
    form = {"text": "an apple", "limit": "1", "metadata_title": "ignored"}
    answer = ask(home, "POST", "/v1/projects/subjects/suggest", data=form)
    [found] = answer.json()["results"]
    assert (found["uri"], found["label"], found["notation"]) == ("fruit", "Fruit", None)
    assert 0 < found["score"] <= 1


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"text": "an apple", "limit": "-1"}, 400),
        ({"text": "an apple", "limit": "many"}, 400),
        ({"text": "an apple", "threshold": "2"}, 400),
        ({"text": "an apple", "language": "fi"}, 400),
        ({"limit": "1"}, 400),
        ({"text": "an apple", "limit": "0"}, 200),
    ],
)
def test_annif_refuses_with_its_statuses(home, form, status):
    answer = ask(home, "POST", "/v1/projects/subjects/suggest", data=form)
    assert answer.status_code == status
    assert status == 200 or answer.headers["content-type"] == "application/problem+json"


def test_annif_answers_batches_in_order_and_limits_them(home):
    documents = [{"text": "a car", "document_id": "x"}, {"text": "an apple"}]
    answer = ask(home, "POST", "/v1/projects/subjects/suggest-batch?limit=1", json={"documents": documents}).json()
    assert [(one["document_id"], one["results"][0]["uri"]) for one in answer] == [("x", "vehicle"), (None, "fruit")]
    many = {"documents": [{"text": "a car"}] * 33}
    assert ask(home, "POST", "/v1/projects/subjects/suggest-batch", json=many).status_code == 400


def test_annif_learns_every_document_or_none(home):
    async def conversation(client):
        path = "/v1/projects/subjects/learn"
        documents = [{"text": f"pie {number}", "subjects": [{"uri": "pie"}]} for number in range(3)]
        learned = await client.post(path, json=documents)
        refused = await client.post(path, json=[*documents, {"text": "without subjects"}])
        return learned, refused, (await client.get("/v1/model")).json()["sequence"]

    learned, refused, sequence = talk(home, conversation)
    assert (learned.status_code, learned.content) == (204, b"")
    assert (refused.status_code, sequence) == (400, 3)


def test_annif_lists_projects_and_vocabularies(home):
    [project] = ask(home, "GET", "/v1/projects").json()["projects"]
    assert project == ask(home, "GET", "/v1/projects/subjects").json()
    assert (project["language"], project["is_trained"]) == ("en", True)
    [vocabulary] = ask(home, "GET", "/v1/vocabs").json()["vocabs"]
    assert vocabulary == {"vocab_id": "subjects", "languages": ["en"], "size": 2, "loaded": True}
    unknown = ask(home, "GET", "/v1/projects/other")
    assert unknown.status_code == 404
    assert "'other'" in unknown.json()["detail"]


@pytest.mark.parametrize(("languages", "status"), [(["en", "fi"], 200), (["xx"], 400), ([], 400)])
def test_annif_detects_languages(home, languages, status):
    body = {"text": "The quick brown fox jumped over the lazy dog", "languages": languages}
    answer = ask(home, "POST", "/v1/detect-language", json=body)
    assert answer.status_code == status
    if status == 200:
        scores = {one["language"]: one["score"] for one in answer.json()["results"]}
        assert scores["en"] > 0.9
        assert sum(scores.values()) == pytest.approx(1)


# -- KServe ------------------------------------------------------------------------------------------


def tensor(**changes):
    return {"name": "text", "shape": [2], "datatype": "BYTES", "data": ["an apple", "a car"], **changes}


def test_kserve_ranks_texts(home):
    body = {"id": "7", "inputs": [tensor()], "parameters": {"k": 1}, "outputs": [{"name": "labels"}]}
    answer = ask(home, "POST", "/v2/models/subjects/infer", json=body).json()
    expected = {"name": "labels", "shape": [2, 1], "datatype": "BYTES", "data": ["fruit", "vehicle"]}
    assert (answer["id"], answer["model_name"], answer["outputs"]) == ("7", "subjects", [expected])


def test_kserve_pads_rows_of_different_length(home):
    body = {"inputs": [tensor(data=["an apple and a car", "zzz"])]}
    outputs = {one["name"]: one for one in ask(home, "POST", "/v2/models/subjects/infer", json=body).json()["outputs"]}
    assert outputs["labels"]["shape"] == [2, 2]
    assert outputs["labels"]["data"][2:] == ["", ""]
    assert outputs["scores"]["data"][2:] == [0.0, 0.0]


def binary(texts, size=None):
    raw = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    parameters = {"binary_data_size": len(raw) if size is None else size}
    header = json.dumps({"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "parameters": parameters}]})
    headers = {"Inference-Header-Content-Length": str(len(header)), "Content-Type": "application/octet-stream"}
    return {"content": header.encode() + raw, "headers": headers}


def test_kserve_reads_texts_in_binary_form(home):
    answer = ask(home, "POST", "/v2/models/subjects/infer", **binary([b"an apple", b"a car"])).json()
    assert answer["outputs"][0]["data"][0] == "fruit"
    assert answer["outputs"][0]["shape"][0] == 2


@pytest.mark.parametrize(
    "request_",
    [
        {"json": {"inputs": [tensor(datatype="FP32")]}},
        {"json": {"inputs": [tensor(data=[1, 2])]}},
        {"json": {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES"}]}},
        {"json": {"inputs": []}},
        binary([b"an apple"], size=5),
        binary([b"an apple"], size=1000),
        binary([b"\xff\xfe"]),
    ],
)
def test_kserve_refuses_what_is_not_texts(home, request_):
    answer = ask(home, "POST", "/v2/models/subjects/infer", **request_)
    assert answer.status_code == 400
    assert answer.json()["error"] == answer.json()["detail"]  # the protocol's name


def test_kserve_tells_what_is_ready(home):
    assert ask(home, "GET", "/v2/health/live").json() == {"live": True}
    assert ask(home, "GET", "/v2/health/ready").json() == {"ready": True}
    assert ask(home, "GET", "/v2/models/subjects/ready").json() == {"ready": True, "name": "subjects"}
    assert ask(home, "GET", "/v2/models/subjects").json()["inputs"][0]["name"] == "text"
    assert ask(home, "GET", "/v2/models/other/ready").status_code == 404


# -- OpenRefine --------------------------------------------------------------------------------------


def test_openrefine_gets_a_manifest_with_addresses_of_this_server(home):
    manifest = ask(home, "GET", "/reconcile/subjects").json()
    assert manifest["versions"] == ["0.2"]
    assert manifest["preview"]["url"] == "http://127.0.0.1/reconcile/subjects/preview?id={{id}}"
    entity = manifest["suggest"]["entity"]
    assert ask(home, "GET", entity["service_path"] + "?prefix=fru").json()["result"][0]["id"] == "fruit"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_openrefine_reconciles_texts(home, method):
    queries = json.dumps({"q0": {"query": "an apple", "limit": 1}, "q1": {"query": "zzz"}})
    options = {"params": {"queries": queries}} if method == "GET" else {"data": {"queries": queries}}
    answer = ask(home, method, "/reconcile/subjects", **options).json()
    [found] = answer["q0"]["result"]
    assert (found["id"], found["name"], found["type"]) == ("fruit", "Fruit", [{"id": "label", "name": "Label"}])
    assert 0 < found["score"] <= 100
    assert answer["q1"]["result"] == []


def test_openrefine_cannot_ask_for_more_labels_than_others(home):
    queries = {f"q{number}": {"query": "an apple", "limit": 1000} for number in range(300)}
    answer = ask(home, "POST", "/reconcile/subjects", data={"queries": json.dumps(queries)})
    assert answer.status_code == 413
    assert "a batch may ask for 250,000" in answer.json()["detail"]


def test_openrefine_extends_labels(tmp_path):
    tagger = Tagger().fit(["a red apple"], [["apples"]], label_names={"apples": ["Apples"], "fruit": ["Fruit"]})
    tagger.hierarchy = Hierarchy.from_pairs([("apples", "fruit")])
    home = Home.create(tmp_path / "subjects.served", tagger)
    wanted = {"ids": ["apples", "unknown"], "properties": [{"id": "broader"}, {"id": "names"}, {"id": "texts"}]}
    answer = ask(home, "POST", "/reconcile/subjects", data={"extend": json.dumps(wanted)}).json()
    assert answer["rows"]["apples"] == {
        "broader": [{"id": "fruit", "name": "Fruit"}],
        "names": [{"str": "Apples"}],
        "texts": [{"int": 1}],
    }
    assert answer["rows"]["unknown"] == {"broader": [], "names": [], "texts": []}
    assert [one["id"] for one in answer["meta"]] == ["broader", "names", "texts"]
    wanted["properties"] = [{"id": "colour"}]
    refused = ask(home, "POST", "/reconcile/subjects", data={"extend": json.dumps(wanted)})
    assert refused.status_code == 422
    assert "broader" in refused.json()["detail"]


def test_openrefine_previews_a_label_without_markup_of_its_name(tmp_path):
    names = {"fruit": ["<b>Fruit</b>"]}
    tagger = Tagger().fit(["a red apple"], [["fruit"]], label_names=names)
    home = Home.create(tmp_path / "subjects.served", tagger)
    answer = ask(home, "GET", "/reconcile/subjects/preview?id=fruit")
    assert answer.headers["content-type"].startswith("text/html")
    assert "&lt;b&gt;Fruit&lt;/b&gt;" in answer.text
    assert ask(home, "GET", "/reconcile/subjects/preview?id=other").status_code == 404


# -- scores ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "origin", "allowed"),
    [
        ("/reconcile/subjects", "http://localhost:3333", True),
        ("/reconcile/subjects/suggest/entity?prefix=fru", "http://localhost:3333", True),
        ("/reconcile/subjects", "http://localhost:3334", False),
        ("/reconcile/subjects", None, False),
        ("/v1/labels", "http://localhost:3333", False),
    ],
)
def test_only_openrefines_pages_may_read_only_its_paths(home, path, origin, allowed):
    headers = {} if origin is None else {"Origin": origin}
    answer = ask(home, "GET", path, OPENREFINE, headers=headers)
    assert answer.status_code == 200
    assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
    assert (answer.headers.get("vary") == "Origin") == path.startswith("/reconcile/")


def test_openrefines_search_ranks_a_text_that_is_no_name(home):
    found = ask(home, "GET", "/reconcile/subjects/suggest/entity", params={"prefix": "the red apple"}).json()["result"]
    assert found[0]["id"] == "fruit"
    assert found[0]["description"].endswith("%")
    [by_name] = ask(home, "GET", "/reconcile/subjects/suggest/entity?prefix=vehi").json()["result"]
    assert by_name["description"] == "1 text"


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([], []), ([0.5, 0.2], [0.5, 0.2]), ([0.1, 0.2, 0.6], [0.3, 0.3, 0.3]), ([0.9, 0.1, 0.3], [0.9, 0.2, 0.2])],
)
def test_scores_do_not_increase_and_keep_their_sum(scores, expected):
    assert descending(scores) == pytest.approx(expected)
