"""Limits of one request, by counts; large requests are answered in pieces."""

import asyncio
import contextlib
import threading
import time

import msgspec
import pytest

from abound import Tagger
from abound.server import Home
from abound.server.http import limits
from abound.server.http.bodies import ExplainRequest, RankRequest
from abound.server.http.endpoints import Call
from abound.server.http.limits import MAX_RANKED, MAX_WORDS
from abound.server.http.ranking import explain, rank
from abound.store.journal.records import Learn, RetireLabel
from tests.server.http.asgi import talk

WORDS = [f"word{i}" for i in range(300)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    texts = [" ".join(WORDS[i : i + 5]) for i in range(295)]
    labels = [[f"label {i}", f"label {i + 1}"] for i in range(295)]
    return Home.create(tmp_path_factory.mktemp("served") / "home", Tagger().fit(texts, labels))


def ask(home, path, body):
    async def conversation(client):
        return await client.post(path, json=body)

    return talk(home, conversation)


def check_too_much(answer, words):
    assert answer.status_code == 413, answer.text[:300]
    assert words in answer.json()["detail"]
    assert int(answer.headers["x-abound-limit"]) > 0


def test_reasons_for_many_labels_of_a_long_text_are_refused(home):
    body = {"text": "word7 " * 10_000, "explain": True}
    assert ask(home, "/v1/rank", {**body, "k": 4}).status_code == 200
    check_too_much(ask(home, "/v1/rank", {"text": " ".join(WORDS) * 20, "explain": True, "k": 1000}), "ask for at most")


def test_a_batch_that_asks_for_too_many_labels_is_refused(home):
    check_too_much(ask(home, "/v1/rank/batch", {"texts": [""] * (MAX_RANKED // 1000 + 1), "k": 1000}), "at a time")
    assert ask(home, "/v1/rank/batch", {"texts": [""] * (MAX_RANKED // 1000), "k": 1000}).status_code == 200


def test_an_answer_that_grows_too_large_is_refused(home, monkeypatch):
    monkeypatch.setattr("abound.server.http.ranking.ANSWER_BYTES", 10_000)
    check_too_much(ask(home, "/v1/rank/batch", {"texts": ["word7 word8"] * 100, "k": 100}), "the answer")


def test_a_text_of_too_many_words_is_refused(home):
    long = "a " * (MAX_WORDS + 1)
    check_too_much(ask(home, "/v1/rank", {"text": long}), "words")
    check_too_much(ask(home, "/v1/rank/batch", {"texts": ["b", long]}), "words")
    check_too_much(ask(home, "/v1/learn", {"text": long, "added": ["x"]}), "words")
    check_too_much(ask(home, "/v1/rank/batch", {"texts": ["ä" * (limits.TEXT_BYTES // 2 + 1)]}), "bytes")
    assert ask(home, "/v1/rank", {"text": "word7 " * 80_000}).status_code == 200


def test_a_batch_answers_what_single_requests_do(home):
    texts = [" ".join(WORDS[i : i + 3]) for i in range(0, 290, 2)] + ["word3 " * 30_000]
    batch = ask(home, "/v1/rank/batch", {"texts": texts, "k": 60}).json()
    assert [len(labels) for labels in batch["results"]] == [
        len(ask(home, "/v1/rank", {"text": text, "k": 60}).json()["labels"]) for text in texts[:3]
    ] + [len(labels) for labels in batch["results"][3:]]
    assert batch["sequence"] == 0


def test_a_record_may_come_between_the_words_and_the_ranking_of_a_long_text(home):
    text = "word7 word8 " * 10_000

    async def conversation(client):
        short = await client.post("/v1/rank", json={"text": "word7 word8", "k": 3})
        long = await client.post("/v1/rank", json={"text": text, "k": 3})
        replica = client.writer.replica
        call = Call(client.app.service, RankRequest(text=text, k=3), None, ())
        work, sequence = rank(call), replica.sequence
        assert work.send(None) is None  # tokenized; other requests are handled now
        replica.apply(sequence + 1, Learn("word9", added=["label 9"]))
        with pytest.raises(StopIteration) as end:
            work.send(None)
        assert end.value.value.sequence == sequence + 1
        return short.json()["labels"], long.json()["labels"], replica.rank(text, 3)

    short, long, ranked = talk(home, conversation)
    assert [label["label"] for label in long] == [entry.label for entry in ranked]
    assert {label["label"] for label in long} == {label["label"] for label in short}


def test_parts_of_a_merged_label_are_explained_a_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("abound.server.http.ranking.PIECE_REASONS", 400)
    texts = [f"shared word{i}" for i in range(40)]
    home = Home.create(tmp_path / "home", Tagger().fit(texts, [[f"label {i}"] for i in range(40)]))
    text = " ".join(["shared", *WORDS[:40]]) + " filler" * 2_000

    async def conversation(client):
        for i in range(1, 40):
            merge = {"merge": {"label": f"label {i}", "into": "label 0"}}
            assert (await client.patch("/v1/labels", json=merge)).status_code == 200
        explained = await client.post("/v1/explain", json={"text": text, "label": "label 0"})
        ranked = await client.post("/v1/rank", json={"text": text, "k": 1, "explain": True})
        replica = client.writer.replica
        [wanted] = replica.explain_many(text, ["label 0"])
        work = explain(Call(client.app.service, ExplainRequest(text=text, label="label 0"), None, ()))
        turns = 0
        with contextlib.suppress(StopIteration):
            while turns < 1000:
                work.send(None)
                turns += 1
                assert replica.wait_for(39, 0)
        replica.apply(40, RetireLabel("label 0"))
        retired = await client.post("/v1/explain", json={"text": text, "label": "label 0"})
        return explained.json(), ranked.json()["labels"][0], wanted, turns, retired.status_code

    explained, ranked, wanted, turns, retired = talk(home, conversation)
    assert (explained["label"], explained["score"]) == ("label 0", pytest.approx(wanted.score))
    assert [word["word"] for word in explained["words"]] == [word.word for word in wanted.words]
    assert [word["word"] for word in ranked["words"]] == [word.word for word in wanted.words]
    assert turns > 3
    assert retired == 404


def test_many_brackets_are_not_looked_through(home):
    async def conversation(client):
        answers = []
        for body in (
            b"[]" * (1 << 22),
            b'{"texts": [' + b"[]," * (1 << 20) + b"[]]}",
            b'{"texts": ["' + b'\\"' * (1 << 20),
        ):
            headers = {"content-type": "application/json"}
            answers.append(await client.post("/v1/rank/batch", content=body[: limits.BATCH_BYTES], headers=headers))
        return answers

    assert {answer.status_code for answer in talk(home, conversation)} <= {400, 422}


def ticks(gaps, seconds):
    """Count how often the event loop comes round, and note the processor time that its thread took in between."""

    async def tick():
        ends, before = time.monotonic() + seconds, time.thread_time()
        while time.monotonic() < ends:
            await asyncio.sleep(0)
            gaps.append(time.thread_time() - before)
            before = time.thread_time()

    return tick()


def test_long_work_lets_others_have_their_turn(home):
    features = {" ".join(("word7", str(i))): 1.0 for i in range(30_000)}
    asked = {
        "features": ("/v1/rank", {"features": features}),
        "reasons": ("/v1/rank", {"text": " ".join(WORDS * 6), "explain": True, "k": 60}),
        "batch": ("/v1/rank/batch", {"texts": [" ".join(WORDS[:40])] * 2000, "k": 120}),
    }

    async def conversation(client):
        found = {}
        for name, (path, body) in asked.items():
            raw, gaps = msgspec.json.encode(body), []
            ticking = asyncio.create_task(ticks(gaps, 60))
            headers = {"content-type": "application/json"}
            await asyncio.sleep(0)
            answer = await client.post(path, content=raw, headers=headers)
            ticking.cancel()
            found[name] = (answer.status_code, len(gaps), max(gaps, default=0.0), sum(gaps))
        return found

    for name, (status, turns, longest, together) in talk(home, conversation).items():
        assert status == 200, name
        assert turns > 3, (name, turns)
        assert longest < 0.9 * together + 0.05, (name, longest, together)  # a busy machine takes turns itself


def test_the_hash_is_taken_once_for_many_and_lets_others_in(home):
    async def conversation(client):
        calls, replica = [], client.writer.replica
        gently = replica.hash_in_steps

        def counted():
            calls.append(threading.current_thread().name)
            time.sleep(0.2)  # as a large model would
            return gently()

        replica.hash_in_steps = counted
        asked = [asyncio.create_task(client.get("/v1/model?hash=1")) for _ in range(16)]
        await asyncio.sleep(0.05)
        started = time.monotonic()
        ranked = await client.post("/v1/rank", json={"text": "word7"})
        waited = time.monotonic() - started
        hashes = {(await one).json()["state_hash"] for one in asked}
        await client.post("/v1/learn", json={"text": "word7", "added": ["new"]})
        after = (await client.get("/v1/model?hash=1")).json()
        assert after["state_hash"] == replica.state_hash()
        return hashes, calls, ranked, waited, after["sequence"], replica

    hashes, calls, ranked, waited, sequence, _ = talk(home, conversation)
    assert len(hashes) == 1
    assert len(calls) == 2  # one for each state
    assert ranked.status_code == 200
    assert waited < 0.15
    assert sequence == 1
