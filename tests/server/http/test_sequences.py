"""Every answer is that of the sequence that it carries, also while records are learned."""

import random
import threading

import httpx
import pytest

from abound import Tagger
from abound.server import Home
from abound.server.http import ranking
from abound.store.journal.records import Learn
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base

TEXT = "a red apple"
QUESTIONS = [
    ("POST", "/v1/rank", {"text": TEXT}),
    ("POST", "/v1/rank", {"text": TEXT, "explain": True}),
    ("POST", "/v1/rank", {"text": TEXT, "assign": True, "without": ["sport"]}),
    ("POST", "/v1/rank", {"features": {"apple": 1.0, "red": 0.5}}),
    ("POST", "/v1/rank/batch", {"texts": [TEXT, "a fast car", "red"]}),
    ("POST", "/v1/explain", {"text": TEXT, "label": "fruit"}),
    ("GET", "/v1/labels?prefix=f", None),
    ("GET", "/v1/label?name=fruit", None),
    ("GET", "/v1/word?word=apple", None),
    ("GET", "/v1/model", None),
]


CLOCK = {"name", "fitted", "last_correction", "changed"}  # not of the state


def without_clock(answer):
    """Return an answer without what depends on when and where it was given."""
    if isinstance(answer, dict):
        return {name: without_clock(value) for name, value in answer.items() if name not in CLOCK}
    return [without_clock(value) for value in answer] if isinstance(answer, list) else answer


def lesson(number):
    """Return a correction that changes the answers to all questions."""
    return Learn(f"{TEXT} in a car", added=["fruit"], rejected=["vehicle"] if number % 2 else [])


def requests_of(record):
    return {"text": record.text, "added": list(record.added), "rejected": list(record.rejected)}


def expected_answers(home, n):
    """Return the answers of an application that nothing else uses, by question and sequence."""

    async def conversation(client):
        answers = {}
        for sequence in range(n + 1):
            if sequence:
                await client.post("/v1/learn", json=requests_of(lesson(sequence)))
            for i, (method, path, body) in enumerate(QUESTIONS):
                answers[i, sequence] = (await client.request(method, path, json=body)).json()
        return answers

    return talk(home, conversation)


def ask_while_learning(url, n, n_clients):
    """Return the answers that clients got until all was learned: question, header and body."""
    answers, done, problems = [], threading.Event(), []

    def ask(seed):
        chance = random.Random(seed)
        try:
            with httpx.Client(base_url=url, timeout=120) as client:
                while not done.is_set():
                    i = chance.randrange(len(QUESTIONS))
                    method, path, body = QUESTIONS[i]
                    answer = client.request(method, path, json=body)
                    answers.append((i, int(answer.headers["x-abound-sequence"]), answer.json()))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(n_clients)]
    for thread in threads:
        thread.start()
    try:
        with httpx.Client(base_url=url, timeout=120) as client:
            for sequence in range(1, n + 1):
                assert client.post("/v1/learn", json=requests_of(lesson(sequence))).json()["sequence"] == sequence
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert problems == []
    return answers


@pytest.mark.parametrize(
    ("workers", "n"), [(1, 50), (2, 50), pytest.param(1, 500, marks=pytest.mark.slow)], ids=["one", "two", "long"]
)
def test_an_answer_under_load_is_that_of_its_sequence(tmp_path, workers, n):
    expected = expected_answers(Home.create(tmp_path / "alone", base()), n)
    assert len({str(expected[0, sequence]["labels"]) for sequence in range(n + 1)}) == n + 1  # each record shows
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", workers) as server:
        answers = ask_while_learning(server.url, n, 3)
    assert len({header for _, header, _ in answers}) > n / 10
    for i, header, body in answers:
        assert header == body["sequence"]
        if "sequences" in body:  # only its first texts are of the sequence of the answer
            assert body["sequences"][0] == header
            continue
        assert without_clock(body) == without_clock(expected[i, header]), QUESTIONS[i]


@pytest.mark.parametrize("path", ["/v1/rank/batch", "/v1/assign"])
def test_each_text_of_a_batch_has_its_sequence_if_records_came_in_between(tmp_path, monkeypatch, path):
    texts = [TEXT, "a fast car", TEXT]
    labels = {text: ["fruit"] if "apple" in text else ["vehicle"] for text in texts}
    tagger = Tagger().fit([*labels] * 100, [*labels.values()] * 100)  # enough for probabilities

    async def conversation(client):
        def learn_in_between(given, _):
            for number, text in enumerate(given, 1):
                yield [text]
                client.writer.submit(lesson(number)).result(30)

        first = await client.post(path, json={"texts": texts})
        monkeypatch.setattr(ranking, "_chunks", learn_in_between)
        changed = await client.post(path, json={"texts": texts})
        monkeypatch.undo()
        return first, changed, await client.post(path, json={"texts": texts})

    first, changed, last = talk(Home.create(tmp_path / "home", tagger), conversation)
    results = changed.json()["results"]
    assert changed.headers["x-abound-sequence"] == "0"
    assert changed.json() == {"sequence": 0, "results": results, "sequences": [0, 1, 2]}
    assert results[0] == first.json()["results"][0]
    assert results[2] not in (first.json()["results"][2], last.json()["results"][2])
    assert ("sequences" in first.json(), last.json()["sequence"], "sequences" in last.json()) == (False, 3, False)
