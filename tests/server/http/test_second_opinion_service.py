"""`abound serve --second-opinion`: a service is asked about the best labels of a text, and its scores are blended."""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from urllib.request import Request, urlopen

import pytest

from abound import Tagger
from abound.loading import load_tagger
from abound.second_opinion.blend import FEATURES, WEIGHTS
from abound.store.journal import Journal
from tests.server.http.running import Running
from tests.server.http.scoring import scoring_service

pytestmark = pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")
LABELS = [f"l{number}" for number in range(12)]
WORDS = [f"w{number}" for number in range(40)]
NAMES = {label: f"Label {label}" for label in LABELS}
TIMEOUT = 0.5
PATIENT = 20  # seconds, on a machine with much load


def text_of(label, random):
    """Return a text whose words often name its label."""
    hints = [f"x{random.choice([label, label, random.choice(LABELS)])}" for _ in range(2)]
    return " ".join(random.choices(WORDS, k=6) + hints)


@pytest.fixture
def scoring():
    with scoring_service() as server:
        yield server


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    draw = random.Random(1)
    labels = [draw.choice(LABELS) for _ in range(400)]
    path = tmp_path_factory.mktemp("model") / "model"
    texts = [text_of(label, draw) for label in labels]
    Tagger().fit(texts, [[label] for label in labels], label_names={k: [v] for k, v in NAMES.items()}).save(path)
    return path


@pytest.fixture
def serve(model, tmp_path):
    @contextlib.contextmanager
    def start(url, *arguments, timeout=PATIENT, state="state"):
        given = ("--state", tmp_path / state, "--second-opinion", url, "--second-opinion-timeout", timeout, *arguments)
        with Running(model, *given) as server:
            yield server

    return start


def post(server, path, **body):
    request = Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310
    with urlopen(request, timeout=60) as answer:  # noqa: S310  our own server
        return json.load(answer)


def metrics(server):
    with urlopen(server.url + "/metrics") as answer:  # noqa: S310  our own server
        lines = answer.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def questions(server, result):
    return metrics(server)[f'abound_second_opinion_requests_total{{result="{result}"}}']


def first(answer):
    return answer["labels"][0]["label"]


TEXT = "w1 w2 w3 xl2 xl2"
EXPECTED = "l2"


def test_large_scores_lift_a_label_at_once(serve, scoring):
    scoring.score = lambda _text, label: 40.0 if label == "l7" else 0.0
    with serve(scoring.url) as server:
        answer = post(server, "/v1/rank", text=TEXT)
        assert first(answer) == "l7"
        assert answer["voters"] == ["words", "second opinion"]
        assert answer["labels"][1]["label"] == EXPECTED
        likely = [label["probability"] for label in answer["labels"]]
        assert likely[0] == max(likely)
        [question] = scoring.asked
        assert question["text"] == TEXT
        assert {label["id"]: label["name"] for label in question["labels"]}.items() <= NAMES.items()
        assert len(question["labels"]) > 5
        for more in ({"explain": True}, {"assign": True}, {"k": 3}, {"only": ["l7", "l3"]}):
            answer = post(server, "/v1/rank", text=TEXT, **more)
            assert (first(answer), answer["voters"]) == ("l7", ["words", "second opinion"])
        assert len(scoring.asked) == 1  # the others came from the cache
        assert questions(server, "answered") == 1
        assert questions(server, "cached") == 4
        assert "voters" not in post(server, "/v1/rank", features={"xl2": 1.0})


def test_batches_and_assignments_have_the_voters_of_each_text(serve, scoring):
    scoring.score = lambda text, label: 40.0 if label == "l7" and "w1" in text else 0.0
    texts = [TEXT, "w4 xl3 xl3", "unknown words only"]
    with serve(scoring.url) as server:
        found = post(server, "/v1/rank/batch", texts=texts)
        assert [[label["label"] for label in row][:1] for row in found["results"]] == [["l7"], ["l3"], []]
        assert found["voters"] == [["words", "second opinion"], ["words", "second opinion"], ["words"]]
        found = post(server, "/v1/assign", texts=texts)
        assert [[label["label"] for label in row] for row in found["results"]] == [["l7"], ["l3"], []]
        assert len(found["voters"]) == 3


def test_merged_and_renamed_labels_are_asked_about_under_their_current_names(serve, scoring):
    scoring.score = lambda _text, label: 40.0 if label == "l7" else 0.0
    with serve(scoring.url) as server:
        with server.client() as client:
            client.merge_labels("l3", into="l7")
        answer = post(server, "/v1/rank", text=TEXT, k=12)
        assert first(answer) == "l7"
        assert "l3" not in [label["id"] for label in scoring.asked[0]["labels"]]


def test_a_slow_service_costs_the_timeout_and_once_it_is_paused_nothing(serve, scoring):
    scoring.delay = 60
    with serve(scoring.url, timeout=TIMEOUT) as server:
        for number in range(8):
            began = time.monotonic()
            answer = post(server, "/v1/rank", text=f"{TEXT} {number}")
            assert time.monotonic() - began < TIMEOUT + 1.5
            assert first(answer) == EXPECTED
            assert "voters" not in answer
        began = time.monotonic()
        assert "voters" not in post(server, "/v1/rank/batch", texts=[TEXT, "w3 xl3"])
        for number in range(10):
            post(server, "/v1/rank", text=f"{TEXT} again {number}")
        assert time.monotonic() - began < 10 * TIMEOUT / 2
        assert 5 <= questions(server, "failed") <= 7  # one may begin before another has failed
        assert questions(server, "paused") >= 10
        assert metrics(server)["abound_second_opinion_failing"] == 1


def test_a_batch_waits_for_the_timeout_in_total(serve, scoring):
    scoring.delay, scoring.score = 0.3, lambda _text, label: 40.0 if label == "l7" else 0.0
    with serve(scoring.url, timeout=3) as server:
        began = time.monotonic()
        found = post(server, "/v1/rank/batch", texts=[f"{TEXT} w{number}" for number in range(200)])
        assert time.monotonic() - began < 3 + 3
        voted = ["second opinion" in voters for voters in found["voters"]]
        assert 0 < sum(voted) < 200
        assert [row[0]["label"] == "l7" for row in found["results"]] == voted


@pytest.mark.parametrize("workers", [1, 2])
def test_the_budget_is_that_of_the_server(serve, scoring, workers):
    with serve(scoring.url, "--second-opinion-budget", 4, "--workers", workers) as server:
        for number in range(30):
            assert first(post(server, "/v1/rank", text=f"{TEXT} w{number}")) == EXPECTED
        assert len(scoring.asked) <= 4
        assert scoring.asked
        deadline = time.monotonic() + 30
        while questions(server, "over_budget") < 26 and time.monotonic() < deadline:  # workers report now and then
            time.sleep(0.2)
        assert questions(server, "over_budget") + len(scoring.asked) >= 30


def test_without_a_service_nothing_changes(model, tmp_path):
    with Running(model, "--state", tmp_path / "state") as server:
        assert "voters" not in post(server, "/v1/rank", text=TEXT)
        assert not any("second_opinion" in name for name in metrics(server))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--second-opinion-budget", "3"], "--second-opinion-budget needs --second-opinion"),
        (["--second-opinion", "http://h", "--second-opinion-budget", "1", "--workers", "2"], "number of workers"),
        (["--second-opinion", "http://me:secret@h/", "--workers", "2"], "must not have a password"),
        (["--second-opinion", "ftp://h/"], "http"),
    ],
)
def test_options_that_do_not_fit_are_refused(model, tmp_path, arguments, message):
    command = [sys.executable, "-m", "abound", "serve", str(model), "--state", str(tmp_path / "state"), "--check"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert message in done.stderr


# -- learning ----------------------------------------------------------------------------------------


class Truth:
    """Texts whose words say nothing about their labels, and a service that knows them."""

    def __init__(self, seed):
        self.random, self.labels = random.Random(seed), {}

    def text(self):
        label = self.random.choice(LABELS)
        text = " ".join(self.random.choices(WORDS, k=8))
        self.labels[text] = label
        return text, label

    def score(self, text, label):
        return 1.0 if self.labels[text] == label else 0.0


def learn(server, truth, n):
    for _ in range(n):
        text, label = truth.text()
        assert first(post(server, "/v1/rank", text=text)) is not None
        post(server, "/v1/learn", text=text, added=[label])


def state_hash(server):
    with urlopen(server.url + "/v1/model?hash=true") as answer:  # noqa: S310  our own server
        return json.load(answer)["state_hash"]


def trust(home):
    """Return the weight of the service in the state of a home."""
    return float(load_tagger(home).outside_opinion.blend.weights[FEATURES.index("outside: score")])


def test_a_service_that_is_right_is_trusted_more_and_a_replay_without_it_gives_the_same_state(
    serve, scoring, model, tmp_path
):
    truth = Truth(3)
    scoring.score = truth.score
    tests = [truth.text() for _ in range(60)]

    def hits():
        return sum(first(post(server, "/v1/rank", text=text)) == label for text, label in tests)

    with serve(scoring.url) as server:
        before = hits()
        learn(server, truth, 150)
        after = hits()
        state = state_hash(server)
        server.kill()
    assert after > before + 10, (before, after)
    home = tmp_path / "state"
    assert trust(home) > 0.7 > WEIGHTS[FEATURES.index("outside: score")]
    with Running(model, "--state", home) as server:
        assert state_hash(server) == state
        assert "voters" not in post(server, "/v1/rank", text=tests[0][0])


def test_a_service_that_answers_noise_is_trusted_less(serve, scoring, tmp_path):
    noise = random.Random(5)
    scoring.score = lambda _text, _label: noise.uniform(-3, 3)
    with serve(scoring.url) as server:
        learn(server, Truth(4), 200)
    assert trust(tmp_path / "state") < 0.3 < WEIGHTS[FEATURES.index("outside: score")]


def test_a_correction_has_the_scores_of_its_ranking_and_the_same_key_can_be_sent_again(serve, scoring, tmp_path):
    scoring.score = lambda _text, label: 2.0 if label == "l7" else 0.0
    with serve(scoring.url) as server:
        post(server, "/v1/rank", text=TEXT)
        first_time = post(server, "/v1/learn", text=TEXT, added=["l7"], key="once")
        assert len(scoring.asked) == 1
        scoring.score = lambda _text, _label: 1.0
        assert post(server, "/v1/learn", text=TEXT, added=["l7"], key="once")["sequence"] == first_time["sequence"]
        post(server, "/v1/learn", text="w5 w6", added=["l3"])  # was not ranked before
        assert len(scoring.asked) == 2
        scoring.shutdown()
        scoring.server_close()
        post(server, "/v1/learn", text="w7 w8", added=["l4"])
    with Journal(tmp_path / "state" / "journal.sqlite") as journal:
        opinions = [dict(stored.record.opinion or {}) for stored in journal.read(0)]
    assert len(opinions) == 3
    assert opinions[0]["l7"] == 2.0
    assert set(opinions[1].values()) == {1.0}
    assert opinions[2] == {}
