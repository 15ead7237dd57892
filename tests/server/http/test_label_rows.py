"""The table of all labels and the completion by a text, on real servers with one and with two workers."""

import time

import pytest

from abound import Tagger
from abound.server import Home, Replica
from abound.server.label_rows import RANKED, complete
from abound.store.journal.records import Learn, MergeLabels
from tests.server.http.calls import ask
from tests.server.http.running import Running

TEXTS = ["a red fox", "a red fox runs", "a red deer", "a fast car", "a fast red car", "a slow car"]
LABELS = [["fox"], ["fox"], ["deer"], ["car"], ["car"], ["car"]]


@pytest.fixture(params=["1", "2"])
def server(request, tmp_path):
    home = Home.create(tmp_path / "home", Tagger().fit(TEXTS, LABELS, label_names={"fox": ["red foxes"]}))
    with Running(home.path, "--workers", request.param) as server, server.client() as client:
        server.learn = client.learn
        server.edit = client
        yield server


def labels(server, **query):
    status, found = ask(server, "/v1/labels", **query)
    assert status == 200, found
    return found["labels"]


def names(found):
    return [entry["label"] for entry in found]


def wait_for(server, sequence):
    """Wait until every worker has applied a record."""
    ends = time.monotonic() + 30
    while any(one["sequence"] < sequence for one in ask(server, "/v1/progress")[1]["workers"]):
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_the_table_is_sorted_searched_and_paged(server):
    for text, right, wrong in (
        ("a red fox", ["fox"], ["car"]),
        ("a red deer", ["fox"], []),
        ("a fast car", ["car"], ["deer"]),
    ):
        sequence = server.learn(text, accepted=right, rejected=wrong).sequence
    wait_for(server, sequence)
    assert names(labels(server)) == ["fox", "car", "deer"]
    assert names(labels(server, sort="name")) == ["car", "deer", "fox"]  # it is shown as "red foxes"
    assert names(labels(server, sort="recent")) == ["deer", "car", "fox"]
    rows = {entry["label"]: entry for entry in labels(server, sort="rejected")}
    assert {name: (row["rejected"], row["offered"]) for name, row in rows.items()} == {
        "deer": (1.0, 3),
        "car": (2 / 3, 3),
        "fox": (1 / 3, 3),
    }
    assert list(rows) == ["deer", "car", "fox"]
    assert rows["fox"]["changed"] < rows["car"]["changed"]
    assert ask(server, "/v1/labels", offset=1, limit=1)[1]["total"] == 3
    assert names(labels(server, offset=1, limit=1)) == ["car"]
    assert names(labels(server, query="fox re")) == names(labels(server, prefix="re fox")) == ["fox"]
    assert labels(server, query="fox car") == []
    assert ask(server, "/v1/labels", sort="worst")[0] == ask(server, "/v1/labels", sort="no")[0] == 422


def test_completion_comes_by_the_scores_of_the_text(server):
    def completed(text, query="", limit=10):
        status, found = ask(server, "/v1/labels", {"text": text, "query": query, "limit": limit})
        assert status == 200, found
        return found

    ranked = ask(server, "/v1/rank", {"text": "a slow deer"})[1]["labels"]
    found = completed("a slow deer")
    assert names(found["labels"])[: len(ranked)] == names(ranked)
    assert [entry["score"] for entry in found["labels"]] == [entry["score"] for entry in ranked]
    assert found["total"] == 3
    assert names(completed("nothing known")["labels"]) == ["car", "fox", "deer"]  # by frequency
    assert "score" not in completed("nothing known")["labels"][0]
    assert names(completed("a car", "fox")["labels"]) == ["fox"]
    assert completed("a car", "", 1)["total"] == 3
    server.edit.merge_labels("fox", "deer")
    sequence = server.edit.model()["sequence"]
    wait_for(server, sequence)
    [merged] = completed("a red fox", "fox")["labels"]
    assert (merged["label"], merged["found_by"]) == ("deer", "fox")
    assert server.edit.complete("a red fox", "fox")[0].score == merged["score"]
    assert [match.label for match in server.edit.labels(sort="name", offset=1)] == ["deer"]


def test_a_long_text_is_completed_and_a_field_that_is_not_there_is_refused(server):
    status, found = ask(server, "/v1/labels", {"text": "a slow deer " * 20_000, "query": "d"})
    assert (status, names(found["labels"])) == (200, ["deer"])
    assert ask(server, "/v1/labels", {"text": "a " * 125_001})[0] == 413
    assert ask(server, "/v1/labels", {"query": "d"})[0] == 422


@pytest.mark.parametrize(
    "edit",
    [
        {"rename": {"label": "deer", "to": "red foxes"}},
        {"rename": {"label": "deer", "to": "car"}},
        {"name": {"label": "deer", "names": ["Red foxes"]}},
        {"add": {"label": "deer", "names": ["CAR", "deer"]}},
    ],
)
def test_a_name_that_another_label_shows_is_refused(server, edit):
    if edit == {"add": {"label": "deer", "names": ["CAR", "deer"]}}:
        server.edit.name_label("car", ["car"])
        wait_for(server, 1)
    for dry_run in (True, False):
        status, problem = ask(server, "/v1/labels", {**edit, "dry_run": dry_run}, "PATCH")
        assert status == 409
        assert "is the name of another label" in problem["detail"]
    assert ask(server, "/v1/labels", {"rename": {"label": "deer", "to": "stag"}}, "PATCH")[0] == 200
    assert ask(server, "/v1/labels", {"name": {"label": "fox", "names": ["red foxes", "x"]}}, "PATCH")[0] == 200


def test_25_000_labels_are_completed_in_well_under_20_ms():
    tagger = Tagger(ranker_params={"few_labels": 0})
    tagger.fit(
        [f"word{i % 40} and{i % 7} a text" for i in range(25_000)], [[f"subject {i} of science"] for i in range(25_000)]
    )
    replica = Replica(tagger)
    replica.apply(1, MergeLabels("subject 7 of science", "subject 8 of science"))
    replica.prepare_search()
    rows, took = replica.tagger.rows_of(["word3 and4 a text"]), []
    for query in ("", "s", "subject 12", "sci sub 9"):
        for _ in range(5):
            started = time.thread_time()  # of the processor: others may use the machine, too
            total, found = complete(replica, rows, query, 20)
            took.append(time.thread_time() - started)
        assert total > 10
        assert len(found) == 20
    assert sorted(took)[len(took) // 2] < 0.02


def test_labels_below_the_ranked_ones_come_by_their_votes():
    n = RANKED + 200
    tagger = Tagger(ranker_params={"few_labels": 0})
    tagger.fit([f"w{i} v{i % 400}" for i in range(n)], [[f"label {i}"] for i in range(n)])
    replica = Replica(tagger)
    replica.apply(1, Learn("other", added=["label without a vote"]))
    _, found = complete(replica, tagger.rows_of([" ".join(f"w{i} v{i}" for i in range(n))]), "label", n + 1)
    assert [row.match.label for row in found[-1:]] == ["label without a vote"]
    scores = [row.score for row in found]
    assert scores[-1] is None
    assert None not in scores[:-1]
    below = scores[RANKED:-1]
    assert below == sorted(below, reverse=True)
