"""Details of labels and words, progress, and the page's files, over HTTP."""

import gzip
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from abound import Tagger
from abound.components.rows import Rows
from abound.server import Home
from abound.server.http.introspection import MAX_WORDS
from abound.server.http.pages import Pages
from tests.server.http.asgi import talk

TEXTS = ["a red apple", "a red car", "green apple pie", "a fast car", "apple cake", "a pear"]
LABELS = [["fruit"], ["vehicle"], ["fruit", "dessert"], ["vehicle"], ["dessert"], ["fruit", 7]]


@pytest.fixture(params=[True, False], ids=["few labels", "many labels"])
def tagger(request):
    params = {} if request.param else {"ranker_params": {"few_labels": 0}}
    return Tagger(**params).fit(TEXTS * 3, LABELS * 3, label_names={"fruit": ["fruits", "fruit of trees"]})


def conversation(tagger, tmp_path, *asks):
    async def run(client):
        return [await client.request(method, path, json=body) for method, path, body in asks]

    return talk(Home.create(tmp_path / "home", tagger), run)


def test_a_word_votes_as_in_a_text_of_its_own(tagger, tmp_path):
    (answer,) = conversation(tagger, tmp_path, ("GET", "/v1/word?word=apple", None))
    found = answer.json()
    alone = [(entry.label, entry.score) for entry in tagger.rank("apple", MAX_WORDS) if entry.score > 0]
    assert [(entry["label"], entry["vote"]) for entry in found["labels"]] == alone
    assert next(entry for entry in found["labels"] if entry["label"] == "fruit")["name"] == "fruits"
    assert found["count"] > 0


def test_a_word_is_found_by_its_stem_and_highlighted_as_it_was_written(tmp_path):
    tagger = Tagger(stem="english", form_weight=0.5).fit(TEXTS * 3, LABELS * 3)
    text = "Two APPLES"
    word, explained = conversation(
        tagger,
        tmp_path,
        ("GET", "/v1/word?word=Apples", None),
        ("POST", "/v1/explain", {"text": text, "label": "fruit"}),
    )
    assert word.json()["count"] == 9
    assert {entry["label"] for entry in word.json()["labels"]} >= {"fruit", "dessert"}
    [found] = explained.json()["words"]
    assert (found["word"], [text[start:stop] for start, stop in found["spans"]]) == ("appl", ["APPLES"])


def test_a_labels_words_are_those_that_vote_for_it(tagger, tmp_path):
    (answer,) = conversation(tagger, tmp_path, ("GET", "/v1/label?name=fruit", None))
    found = answer.json()
    number = tagger.ranker.labels_.id_of("fruit")
    expected = {}
    for term in range(tagger.n_features):  # one at a time
        row = Rows(np.array([0, 1]), np.array([term], np.int32), np.ones(1))
        vote = float(sum(tagger.explain_row(row, number)[1]))
        if vote > 0:
            expected[tagger.encoder.name(term)] = vote
    shown = {entry["word"]: entry["vote"] for entry in found["words"]}
    assert shown == pytest.approx({word: expected[word] for word in shown})
    assert len(shown) == min(MAX_WORDS, len(expected))
    assert found["names"] == ["fruits", "fruit of trees"]
    assert found["count"] == 9
    assert (found["accepted"], found["rejected"], found["examples"]) == (0, 0, [])
    for rival in found["rivals"]:
        assert rival["label"] != "fruit"
        assert set(rival["words"]) <= set(shown)


def test_a_label_after_lessons_and_label_edits(tagger, tmp_path):
    answers = conversation(
        tagger,
        tmp_path,
        ("POST", "/v1/learn", {"text": "a ripe pear", "accepted": ["fruit"], "rejected": ["vehicle"]}),
        ("POST", "/v1/learn", {"text": "a van", "added": ["vehicle"]}),
        ("PATCH", "/v1/labels", {"rename": {"label": "vehicle", "to": "vehicles"}}),
        ("PATCH", "/v1/labels", {"merge": {"label": "dessert", "into": "fruit"}}),
        ("GET", "/v1/label?name=vehicle", None),
        ("GET", "/v1/label?name=dessert", None),
        ("GET", "/v1/label?name=7", None),
        ("PATCH", "/v1/labels", {"retire": {"label": 7}}),
        ("GET", "/v1/label?name=7", None),
        ("GET", "/v1/label?name=never", None),
        ("GET", "/v1/word?word=never%20seen", None),
    )
    vehicle, merged, number = (answer.json() for answer in answers[4:7])
    assert (vehicle["label"], vehicle["aliases"], vehicle["accepted"], vehicle["rejected"]) == (
        "vehicles", ["vehicle"], 1, 1,
    )  # fmt: skip
    assert [(example["text"], example["decision"]) for example in vehicle["examples"]] == [
        ("a van", "added"),
        ("a ripe pear", "rejected"),
    ]
    assert (merged["label"], merged["aliases"], merged["count"]) == ("fruit", ["dessert"], 9 + 1 + 6)
    assert "cake" in {entry["word"] for entry in merged["words"]}
    assert number["label"] == 7
    assert [answer.status_code for answer in answers[8:]] == [404, 404, 404]


@pytest.mark.parametrize("name", ["NaN", "nan", "-nan", "inf", "1e999", "9" * 1000])
def test_a_name_that_reads_like_an_odd_number_is_a_name(tagger, tmp_path, name):
    unknown, added, found, by_name, learned, ranked = conversation(
        tagger,
        tmp_path,
        ("GET", f"/v1/label?name={name}", None),
        ("PATCH", "/v1/labels", {"add": {"label": name, "names": ["a mark"]}}),
        ("GET", f"/v1/label?name={name}", None),
        ("GET", "/v1/label?name=a%20mark", None),
        ("POST", "/v1/learn", {"text": "a blank", "added": ["a mark"]}),
        ("POST", "/v1/rank", {"text": "a blank"}),
    )
    assert (unknown.status_code, added.status_code, learned.status_code) == (404, 200, 200)
    assert found.json()["label"] == by_name.json()["label"] == ranked.json()["labels"][0]["label"] == name


def test_progress_tells_of_lessons_and_workers(tagger, tmp_path):
    asks = [("POST", "/v1/learn", {"text": "a red apple", "accepted": ["fruit"]})] * 2
    *_, answer = conversation(tagger, tmp_path, *asks, ("GET", "/v1/progress", None))
    found = answer.json()
    assert (found["sequence"], found["measured"], found["learnt"], found["window"]) == (2, 2, 2, 1000)
    last = found["points"][-1]
    assert {"sequence": 2, "p1": 1.0, "right": True, "high": 1.0}.items() <= last.items()
    assert last["low"] == pytest.approx(0.342, abs=1e-3)
    assert abs(datetime.fromisoformat(last["time"]) - datetime.now(UTC)) < timedelta(minutes=5)
    assert found["smoothed"] == 50
    assert (found["verdict"]["direction"], found["verdict"]["share"]) == ("unknown", 1.0)
    assert found["verdict"]["sentence"] == "100% ± 33, too few texts to see a change: 2 of 40"
    assert [worker["sequence"] for worker in found["workers"]] == [2]
    assert found["labels"] == 4


def test_what_a_replica_remembers_is_no_part_of_its_state(tagger, tmp_path):
    home = Home.create(tmp_path / "home", tagger)

    async def run(client):
        before = (await client.get("/v1/model?hash=1")).json()["state_hash"]
        client.writer.replica.history.learned += 5
        return before, (await client.get("/v1/model?hash=1")).json()["state_hash"]

    before, after = talk(home, run)
    assert before == after


class Asked:
    """The page's files without a network."""

    def __init__(self, path, method="GET", **headers):
        self.sent = []
        given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "path": path, "method": method, "headers": given}
        coroutine = Pages()(scope, None, self._send)
        with pytest.raises(StopIteration):
            coroutine.send(None)
        self.status, self.headers = self.sent[0]["status"], dict(self.sent[0]["headers"])
        self.body = self.sent[1]["body"]

    async def _send(self, message):
        self.sent.append(message)


def test_the_page_and_all_that_it_names_is_there():
    page = Asked("/")
    assert page.status == 200
    assert page.headers[b"content-type"] == b"text/html; charset=utf-8"
    for quoted in page.body.decode().split('"'):
        if quoted.startswith("static/"):
            file = Asked("/" + quoted)
            assert (file.status, file.headers[b"x-content-type-options"]) == (200, b"nosniff")


def test_files_are_packed_and_sent_once():
    plain, packed = Asked("/static/main.js"), Asked("/static/main.js", accept_encoding="gzip, br")
    assert packed.headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(packed.body) == plain.body
    again = Asked("/static/main.js", if_none_match=plain.headers[b"etag"].decode())
    assert (again.status, again.body) == (304, b"")
    head = Asked("/static/main.js", "HEAD")
    assert (head.status, head.body, head.headers[b"content-length"]) == (200, b"", b"%d" % len(plain.body))


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/static/", "/static/../pages.py", "/static/..%2fpages.py", "/static/main", "/index.html"],
)
def test_nothing_else_is_there(path):
    found = Asked(path)
    assert found.status == 404
    assert found.headers[b"content-type"] == b"application/problem+json"


def test_files_cannot_be_changed():
    found = Asked("/", "POST")
    assert (found.status, found.headers[b"allow"]) == (405, b"GET, HEAD")


def test_every_answer_has_the_strict_policy():
    for path in ("/", "/static/main.js", "/nothing"):
        policy = Asked(path).headers[b"content-security-policy"]
        assert policy.startswith(b"default-src 'none'; script-src 'self'; style-src 'self';")
        assert b"unsafe" not in policy
        assert b"require-trusted-types-for 'script'" in policy
