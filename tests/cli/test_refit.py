"""`abound refit`: a new model with the old corrections, compared before the switch."""

import json
import os
import threading
from pathlib import Path

import pytest

from abound import Tagger
from abound.server import Home, Writer
from abound.server.refitting import live_corrections, shown
from abound.server.served import open_state
from abound.store.journal.records import Learn, MergeLabels, RenameLabel, Undo
from tests.cli.running import Run
from tests.server.http.running import Running

RECORDS = [
    Learn("a plum", added=["stone fruit"], rejected=["sport"]),
    Learn("a quince", added=["fruit"]),
    Learn("the old track", rejected=["vehicle"]),
    RenameLabel("cooking", "cookery"),
    MergeLabels("stone fruit", "fruit"),
    Learn("a medlar", added=["stone fruit"], rejected=["cooking"]),
]


@pytest.fixture
def home(model: Path) -> Home:
    tagger = Tagger.load(model)
    home = Home.create(model.with_name("model.served"), tagger, origin=tagger.state_hash())
    with Writer(home) as writer:
        for record in RECORDS:
            writer.submit(record).result(30)
        writer.submit(Learn("undone", added=["nothing"])).result(30)
        writer.change(Undo([7])).result(60)
    return home


def more_rows(path: Path) -> Path:
    rows = [
        {"text": f"a {word} number {number}", "labels": [label]}
        for number in range(20)
        for word, label in (("ship", "vessel"), ("pear", "fruit"), ("race", "sport"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def bases(home: Home) -> list[str]:
    return sorted(path.name for path in (home.path / "bases").iterdir())


def test_a_refit_keeps_the_corrections_and_can_be_undone(home: Home, docs: Path, run: Run, tmp_path: Path) -> None:
    before = open_state(home).state_hash()
    more = more_rows(tmp_path / "more.jsonl")
    done = run("refit", home.path, docs, more, "--holdout", docs, "--json")
    assert done.code == 0, done.err
    result = done.json
    assert (result["rows"], result["sequence"], result["switched"]) == (120, 9, True)
    assert result["corrections"] == {"total": 4, "served": 4, "refitted": 4, "kept": 1.0}
    assert result["measures"]["served"]["labelled"] == 60
    assert result["undo"] == f"abound journal undo {home.path} 9"
    assert bases(home) == [result["base"]]
    state = open_state(home)
    assert all(shown(state, live_corrections(home)))
    assert state.rank("a ship", 1)[0].label == "vessel"
    assert state.rank("a medlar", 1)[0].label == "fruit"
    assert "cooking" not in {entry.label for entry in state.rank("sauce for pasta")}
    assert run("info", home.path).json["fitted_rows"] == 120
    assert run("journal", "verify", home.path).code == 0
    assert run(*result["undo"].split()[1:]).code == 0
    assert open_state(home).state_hash() == before


def test_a_worse_model_is_refused_and_leaves_nothing(home: Home, docs: Path, run: Run, tmp_path: Path) -> None:
    before, more = open_state(home).state_hash(), more_rows(tmp_path / "more.jsonl")
    refused = run("refit", home.path, more, "--holdout", docs)
    assert refused.code == 1
    assert "the served model stays: nDCG@5 on the held-out rows would fall from" in refused.err
    assert refused.json["switched"] is False
    compared = run("refit", home.path, more, "--holdout", docs, "--dry-run")
    assert (compared.code, compared.json["switched"]) == (0, False)
    assert "may have learned" in run("refit", home.path, docs, "--dry-run", "--table").err
    assert bases(home) == []
    assert open_state(home).state_hash() == before
    forced = run("refit", home.path, more, "--holdout", docs, "--force")
    assert (forced.code, forced.json["switched"]) == (0, True)
    assert open_state(home).state_hash() != before


def test_rows_that_are_held_out_by_a_rule_do_not_decide_and_are_learned(home: Home, docs: Path, run: Run) -> None:
    done = run("refit", home.path, docs)
    assert (done.code, done.json["switched"]) == (0, True)
    assert done.json["rows"] < 60
    assert run("info", home.path).json["fitted_rows"] == 60
    assert "so they do not decide" in done.err


def test_settings_and_names_of_the_served_model_are_kept(docs: Path, run: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("fruit\tFruit of all kinds\n", encoding="utf-8")
    model = tmp_path / "named"
    assert run("fit", docs, "--label-names", names, "--ngrams", 1, "--passes", 1, "--model", model).code == 0
    home = Home.create(tmp_path / "home", Tagger.load(model))
    assert run("refit", home.path, docs, "--holdout", docs, "--ranker-param", "w_min=0.01").code == 0
    state = open_state(home)
    params = state.params()
    assert (params["ngrams"], params["ranker_params"]["passes"], params["ranker_params"]["w_min"]) == (1, 1, 0.01)
    assert state.name_of("fruit") == "Fruit of all kinds"


@pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_switches_while_it_answers(home: Home, docs: Path, run: Run, tmp_path: Path, workers: int) -> None:
    more, failures, answers, stop = more_rows(tmp_path / "more.jsonl"), [], [0], threading.Event()
    with Running(home.path, "--workers", workers) as server:
        refused = run("refit", home.path, docs)
        assert refused.code == 1
        assert "is being served; give the server's address with --server" in refused.err

        def ask() -> None:
            with server.client(retries=0) as client:
                while not stop.is_set():
                    try:
                        client.rank("a red plum")
                        answers[0] += 1
                    except Exception as error:
                        failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            done = run("refit", home.path, docs, more, "--holdout", docs, "--server", server.url)
        finally:
            stop.set()
            asking.join()
        assert done.code == 0, done.err
        assert done.json["undo"] == f"abound journal undo --server {server.url} {done.json['sequence']}"
        assert failures == []
        assert answers[0] > 0
        with server.client() as client:
            client.learn("a tug", added=["vessel"])
            assert client.rank("a ship", 1)[0].label == "vessel"
            assert client.model(state_hash=True)["state_hash"] == open_state(home).state_hash()
