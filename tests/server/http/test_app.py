"""The answers of the endpoints, in one process and without a network."""

import asyncio
import json

import pytest

from abound.server import Home
from abound.server.http.app import ENDPOINTS
from abound.store.journal import Journal
from tests.server.http.asgi import talk
from tests.server.streams import base


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def ask(home, method, path, body=None, **options):
    headers = options.pop("headers", {})

    async def conversation(client):
        return await client.request(method, path, json=body, headers=headers)

    return talk(home, conversation, **options)


def check_problem(answer, status, words):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert set(found) == {"type", "title", "status", "detail"}
    assert words in found["detail"]


def test_a_text_is_ranked_with_reasons(home):
    answer = ask(home, "POST", "/v1/rank", {"text": "a red apple", "explain": True})
    assert answer.status_code == 200
    assert answer.headers["x-abound-sequence"] == "0"
    best = answer.json()["labels"][0]
    assert (best["label"], best["rank"]) == ("fruit", 1)
    assert best["prior"] + sum(word["vote"] for word in best["words"]) == pytest.approx(best["score"], rel=1e-12)
    assert {"red", "apple"} <= {word["word"] for word in best["words"]}
    plain = ask(home, "POST", "/v1/rank", {"text": "a red apple", "k": 1}).json()
    assert plain == {"sequence": 0, "labels": [{"label": "fruit", "score": best["score"], "rank": 1}]}
    high = ask(home, "POST", "/v1/rank", {"text": "a red apple", "threshold": best["score"] + 1})
    assert high.json()["labels"] == []


def test_an_empty_ranking_says_why(home):
    answer = ask(home, "POST", "/v1/rank", {"text": "zebras unseen"}).json()
    assert answer["labels"] == []
    assert answer["note"] == "no known word: none of its 2 words occurs in the training texts"
    features = ask(home, "POST", "/v1/rank", {"features": {"zebra": 1.0}}).json()
    assert features["note"] == "no feature of the request is known and votes for a label"
    assert "note" not in ask(home, "POST", "/v1/rank", {"text": "a red apple"}).json()


def test_features_are_ranked(home):
    text = ask(home, "POST", "/v1/rank", {"text": "apple"}).json()["labels"]
    features = ask(home, "POST", "/v1/rank", {"features": {"apple": 1.0, "never seen": 5}}).json()["labels"]
    assert features == text
    assert features[0]["label"] == "fruit"
    check_problem(ask(home, "POST", "/v1/rank", {"text": "a", "features": {}}), 422, "either text or features")
    check_problem(ask(home, "POST", "/v1/rank", {}), 422, "either text or features")


def test_a_batch_equals_single_rankings(home):
    texts = ["a red apple", "", "a fast car", "nothing known"] * 60
    results = ask(home, "POST", "/v1/rank/batch", {"texts": texts, "k": 2}).json()["results"]
    assert len(results) == len(texts)
    for text, labels in zip(texts[:4], results, strict=False):
        assert labels == ask(home, "POST", "/v1/rank", {"text": text, "k": 2}).json()["labels"]


def test_explain_says_where_words_stand(home):
    found = ask(home, "POST", "/v1/explain", {"text": "Red apple", "label": "fruit"}).json()
    assert found["label"] == "fruit"
    assert found["prior"] + sum(word["vote"] for word in found["words"]) == pytest.approx(found["score"], rel=1e-12)
    assert [word["spans"] for word in found["words"] if word["word"] == "red"] == [[[0, 3]]]
    check_problem(ask(home, "POST", "/v1/explain", {"text": "a", "label": "nobody"}), 404, "is unknown")


def test_a_correction_is_learnt_before_the_next_request(home):
    async def conversation(client):
        learnt = await client.post("/v1/learn", json={"text": "apple pie", "added": ["dessert"], "rejected": ["fruit"]})
        ranked = await client.post("/v1/rank", json={"text": "apple pie"}, headers={"X-Abound-Sequence": "1"})
        return learnt, ranked

    learnt, ranked = talk(home, conversation)
    assert learnt.json() == {"sequence": 1, "repeated": False, "new_labels": ["dessert"]}
    assert ranked.json()["sequence"] == 1
    assert ranked.json()["labels"][0]["label"] == "dessert"


def test_a_repeated_key_is_applied_once(home):
    async def conversation(client):
        lesson = {"text": "apple pie", "added": ["dessert"]}
        header = {"Idempotency-Key": "click"}
        first = await client.post("/v1/learn", json=lesson, headers=header)
        again = await client.post("/v1/learn", json={**lesson, "key": "click"})
        other = await client.post("/v1/learn", json={**lesson, "text": "else"}, headers=header)
        return first, again, other, client.writer.replica.tagger.n_rows

    first, again, other, rows = talk(home, conversation)
    assert first.json() == {"sequence": 1, "repeated": False, "new_labels": ["dessert"]}
    assert again.json() == {"sequence": 1, "repeated": True}
    check_problem(other, 409, "belongs to record 1")
    assert rows == 3


def test_what_cannot_be_learnt_is_refused(home):
    check_problem(ask(home, "POST", "/v1/learn", {"text": "x"}), 422, "at least one label")
    both = {"text": "x", "accepted": ["a"], "rejected": ["a"]}
    check_problem(ask(home, "POST", "/v1/learn", both), 422, "right and wrong")
    check_problem(ask(home, "POST", "/v1/learn", {"text": "x", "added": ["new"]}, closed=True), 422, "closed")
    known = ask(home, "POST", "/v1/learn", {"text": "x", "added": ["fruit"]}, closed=True)
    assert known.status_code == 200


def test_labels_are_found_and_changed_without_retraining(home):
    async def conversation(client):
        found = [(await client.get("/v1/labels", params={"prefix": prefix})).json() for prefix in ("", "VEH", "x")]
        add = {"add": {"label": "http://example.org/1", "names": ["Tropical fruit", "exotics"]}}
        added = await client.patch("/v1/labels", json=add)
        by_name = [(await client.get("/v1/labels", params={"prefix": p})).json() for p in ("trop", "FRUIT", "exo")]
        merge = {"merge": {"label": "sport", "into": "vehicle"}}
        tried = await client.patch("/v1/labels", json={**merge, "dry_run": True})
        merged = await client.patch("/v1/labels", json=merge)
        after = [(await client.get("/v1/labels", params={"prefix": prefix})).json() for prefix in ("", "sport")]
        await client.patch("/v1/labels", json={"retire": {"label": "fruit"}})
        await client.patch("/v1/labels", json={"rename": {"label": "vehicle", "to": "traffic"}})
        end = [(await client.get("/v1/labels", params={"prefix": prefix})).json() for prefix in ("", "veh", "tra")]
        ranked = await client.post("/v1/rank", json={"text": "a fast red car"})
        return found, added, by_name, tried, merged, after, end, ranked

    found, added, by_name, tried, merged, after, end, ranked = talk(home, conversation)
    assert [[label["label"] for label in page["labels"]] for page in found] == [
        ["fruit", "vehicle", "sport"],
        ["vehicle"],
        [],
    ]
    assert found[0]["total"] == 3
    names = ["Tropical fruit", "exotics"]
    assert added.json() == {"sequence": 1, "changes": {"texts": 0, "words": 0}, "names": names}
    new = {"label": "http://example.org/1", "name": "Tropical fruit", "count": 0}
    assert by_name[0]["labels"] == [new]
    assert by_name[2]["labels"] == [{**new, "found_by": "exotics"}]
    assert [label["label"] for label in by_name[1]["labels"]] == ["fruit", "http://example.org/1"]
    assert "sequence" not in tried.json()
    assert tried.json()["changes"]["texts"] == 2
    assert tried.json()["changes"]["words"] > 4
    assert merged.json()["sequence"] == 2
    assert after[0]["labels"][0] == {"label": "vehicle", "count": 2}
    assert [label["label"] for label in after[1]["labels"]] == ["vehicle"]
    assert [[label["label"] for label in page["labels"]] for page in end] == [
        ["traffic", "http://example.org/1"],
        ["traffic"],
        ["traffic"],
    ]
    assert [label["label"] for label in ranked.json()["labels"]] == ["traffic", "http://example.org/1"]
    check_problem(ask(home, "PATCH", "/v1/labels", {"dry_run": True}), 422, "one of add, name, rename")
    unknown = {"rename": {"label": "nobody", "to": "x"}, "dry_run": True}
    check_problem(ask(home, "PATCH", "/v1/labels", unknown), 422, "not known")


def test_the_reasons_of_a_merged_label_sum_to_its_score(home):
    async def conversation(client):
        await client.post("/v1/learn", json={"text": "a fast run", "added": ["sport"]})
        await client.patch("/v1/labels", json={"merge": {"label": "sport", "into": "vehicle"}})
        text = "a fast red car on the run"
        ranked = (await client.post("/v1/rank", json={"text": text, "explain": True})).json()["labels"]
        explained = (await client.post("/v1/explain", json={"text": text, "label": "vehicle"})).json()
        plain = (await client.post("/v1/rank", json={"text": text})).json()["labels"]
        return ranked, explained, plain

    ranked, explained, plain = talk(home, conversation)
    [merged] = [label for label in ranked if label["label"] == "vehicle"]
    words, prior = merged.pop("words"), merged.pop("prior")
    assert len(words) > len({word["word"] for word in words})  # both parts vote
    assert prior + sum(word["vote"] for word in words) == pytest.approx(merged["score"], rel=1e-12)
    assert merged["score"] == pytest.approx(explained["score"], rel=1e-12)
    assert [(word["word"], word["vote"]) for word in words] == [(w["word"], w["vote"]) for w in explained["words"]]
    assert merged in plain


def test_the_model_tells_of_itself(home):
    async def conversation(client):
        plain, hashed = [await client.get("/v1/model", params=params) for params in ({}, {"hash": 1})]
        return plain.json(), hashed.json(), client.writer.replica.state_hash()

    plain, hashed, state_hash = talk(home, conversation, closed=True)
    assert (plain["kind"], plain["ranker"], plain["rows"], plain["labels"]) == ("tagger", "cascade", 2, 3)
    assert plain["closed"] is True
    assert plain["learns_wrong"] is True
    assert plain["bands"] is False
    assert hashed == {**plain, "state_hash": state_hash}


def test_bands_need_to_be_taught(tmp_path, home):
    check_problem(ask(home, "POST", "/v1/rank", {"text": "apple", "bands": True}), 409, "no bands yet")
    tagger = base()
    for _ in range(30):
        tagger.feedback("a red apple", ["fruit"])
    banded = Home.create(tmp_path / "banded", tagger)
    text = {"text": "a red apple", "bands": True, "explain": True}
    [label] = ask(banded, "POST", "/v1/rank", text).json()["labels"]
    assert (label["label"], label["band"]) == ("fruit", tagger.rank_with_bands("a red apple")[0].band)
    batch = {"texts": ["a red apple"], "bands": True}
    assert ask(banded, "POST", "/v1/rank/batch", batch).json()["results"][0][0]["band"] == label["band"]


def test_feedback_on_a_band_is_kept(home):
    async def conversation(client):
        feedback = {"label": "fruit", "score": 0.5, "shown": "suggest", "wanted": "apply"}
        return await client.post("/v1/feedback", json=feedback)

    assert talk(home, conversation).json() == {"sequence": 1}
    with Journal(home.journal_path) as journal:
        [record] = [stored.record for stored in journal.read()]
    assert (record.label, record.shown, record.wanted) == ("fruit", "suggest", "apply")


def test_health_and_readiness(home):
    async def conversation(client):
        answers = [await client.get(path) for path in ("/healthz", "/readyz")]
        client.app.service.draining = True
        return [*answers, await client.get("/healthz"), await client.get("/readyz")]

    live, ready, draining, not_ready = talk(home, conversation)
    assert (live.json()["status"], ready.json()["status"]) == ("ok", "ready")
    assert draining.headers["connection"] == "close"
    check_problem(not_ready, 503, "shutting down")
    assert not_ready.headers["retry-after"] == "1"


def test_a_broken_replica_is_said_to_be_one(home):
    async def conversation(client):
        client.writer.replica._broken = RuntimeError("half a record")
        answers = [await client.get(path) for path in ("/healthz", "/readyz")]
        return [*answers, await client.post("/v1/rank", json={"text": "a"})]

    for answer in talk(home, conversation):
        check_problem(answer, 503, "open it again")


def test_what_is_not_there_is_a_problem(home):
    check_problem(ask(home, "GET", "/v1/nothing"), 404, "/openapi.json")
    wrong = ask(home, "GET", "/v1/rank")
    check_problem(wrong, 405, "POST")
    assert wrong.headers["allow"] == "POST"
    check_problem(ask(home, "GET", "/v1/labels?limit=0"), 422, "limit")
    check_problem(ask(home, "GET", "/v1/labels?colour=red"), 422, "colour")
    check_problem(ask(home, "GET", "/v1/labels?prefix=%ff"), 400, "query")
    head = ask(home, "HEAD", "/healthz")
    assert (head.status_code, head.content) == (200, b"")


def test_a_sequence_that_is_not_there_yet_is_a_problem(home):
    body = {"text": "apple"}
    check_problem(ask(home, "POST", "/v1/rank", body, headers={"X-Abound-Sequence": "7"}), 412, "record 7")
    check_problem(ask(home, "POST", "/v1/rank", body, headers={"X-Abound-Sequence": "x"}), 400, "whole number")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"text": "\xff"}', 400),
        (b'{"text": NaN}', 400),
        (b'{"text": "a", "threshold": 1e999}', 422),
        (b'{"text": "a", "k": 0}', 422),
        (b'{"text": "a", "k": true}', 422),
        (b'{"text": "a", "colour": 1}', 422),
        (b'{"text": 1}', 422),
        (b"[" * 33 + b"]" * 33, 413),
        (b'{"text": "a", "x": ' + b"[" * 100_000, 413),
        (b'{"features": {' + b",".join(b'"%d": 1' % i for i in range(100_100)) + b"}}", 413),
        (b'{"text": "' + b"a" * (1 << 20) + b'"}', 413),
        (b'{"explain": true, "text": "' + b"a " * 40_000 + b'"}', 413),
    ],
)
def test_bodies_that_are_refused(home, body, status):
    async def conversation(client):
        return await client.post("/v1/rank", content=body, headers={"content-type": "application/json"})

    check_problem(talk(home, conversation), status, "")


def test_a_form_is_no_json(home):
    async def conversation(client):
        return await client.post("/v1/rank", data={"text": "a"})

    check_problem(talk(home, conversation), 415, "application/json")


def test_a_body_without_a_length_is_cut_off(home):
    async def parts():
        for _ in range(3):
            yield b"a" * (1 << 19)

    async def conversation(client):
        return await client.post("/v1/rank", content=parts(), headers={"content-type": "application/json"})

    answer = talk(home, conversation)
    check_problem(answer, 413, "1,048,576 bytes")
    assert answer.headers["x-abound-limit"] == str(1 << 20)


def test_a_body_that_does_not_come_is_not_waited_for(home, monkeypatch):
    monkeypatch.setattr("abound.server.http.limits.BODY_SECONDS", 0.05)

    async def parts():
        yield b'{"text": '
        await asyncio.sleep(30)

    async def conversation(client):
        return await client.post("/v1/rank", content=parts(), headers={"content-type": "application/json"})

    answer = talk(home, conversation)
    check_problem(answer, 408, "0.05 seconds")
    assert answer.headers["connection"] == "close"


def test_brackets_inside_of_texts_are_no_depth(home):
    assert ask(home, "POST", "/v1/rank", {"text": '[[{"\\' * 50}).status_code == 200


def test_too_many_waiting_requests_are_sent_away(home, monkeypatch):
    monkeypatch.setattr("abound.server.http.service.MAX_WAITING", 0)
    answer = ask(home, "POST", "/v1/learn", {"text": "a", "added": ["b"]})
    check_problem(answer, 429, "wait")
    assert int(answer.headers["retry-after"]) >= 1


def test_an_unexpected_error_tells_nothing_of_the_inside(home, monkeypatch):
    async def conversation(client):
        monkeypatch.setattr(client.writer.replica, "tagger", None)
        return await client.post("/v1/rank", json={"text": "a"})

    check_problem(talk(home, conversation), 500, "unexpected")


def test_answers_are_what_their_types_say(home):
    import msgspec

    types = {(endpoint.method, endpoint.path): endpoint.response for endpoint in ENDPOINTS}
    for method, path, body in (
        ("POST", "/v1/rank", {"text": "apple", "explain": True}),
        ("POST", "/v1/rank/batch", {"texts": ["apple"]}),
        ("POST", "/v1/explain", {"text": "apple", "label": "fruit"}),
        ("POST", "/v1/learn", {"text": "apple", "added": ["fruit"]}),
        ("GET", "/v1/labels", None),
        ("GET", "/v1/model", None),
    ):
        msgspec.json.decode(ask(home, method, path, body).content, type=types[method, path])
        assert json.loads(ask(home, method, path, body).content)
