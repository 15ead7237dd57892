"""Test that `abound rank` assigns labels by their probabilities."""

import sys
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.server.http.running import Running


def labels_of(row: dict) -> list[str]:
    return [entry["label"] for entry in row["labels"]]


def test_only_the_labels_to_apply_are_printed(run: Run, model: Path) -> None:
    ranked, assigned = (run("rank", model, "a ripe apple", *more).json for more in ((), ("--assign",)))
    assert labels_of(assigned) == ["fruit"]
    assert len(labels_of(ranked)) > 1
    assert assigned["labels"][0] == ranked["labels"][0]


def test_a_probability_separates_the_labels_of_a_file(run: Run, model: Path, docs: Path) -> None:
    ranked, assigned = (run("rank", model, docs, *more).lines for more in ((), ("--min-probability", 0.3)))
    assert len(ranked) == len(assigned) == 60
    for whole, row in zip(ranked, assigned, strict=True):
        assert row["labels"] == [entry for entry in whole["labels"] if entry["probability"] >= 0.3]
    assert sum(len(row["labels"]) for row in assigned) < sum(len(row["labels"]) for row in ranked)


def test_a_precision_out_of_reach_is_told_and_nothing_is_assigned(run: Run, model: Path) -> None:
    result = run("rank", model, "a ripe apple", "--precision", 0.9999)
    assert (result.code, result.json["labels"]) == (0, [])
    assert "a precision of 99.99% cannot be reached" in result.err
    assert "no label: none is likely enough to be applied" in result.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--min-probability", 0.5, "--precision", 0.9), "give either --min-probability or --precision"),
        (("--min-probability", 1.5), "--min-probability must be above 0 and at most 1"),
        (("--precision", 0), "--precision must be above 0 and at most 1"),
        (("--assign", "--bands"), "give --bands, or one of --assign, --min-probability and --precision"),
    ],
)
def test_options_that_exclude_each_other_are_refused(run: Run, model: Path, options: tuple, words: str) -> None:
    result = run("rank", model, "a ripe apple", *options)
    assert result.code != 0
    assert words in " ".join(result.err.replace("│", " ").split())


def test_a_model_without_probabilities_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("text,labels\na red apple,fruit\na fast car,vehicle\n")
    assert run("fit", tmp_path / "two.csv", "--model", tmp_path / "two").code == 0
    result = run("rank", tmp_path / "two", "an apple", "--assign")
    assert (result.code, result.out) == (1, "")
    assert "fit it on at least 40 texts" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="a server is killed with all its processes")
def test_a_server_assigns_the_same_as_its_model(run: Run, model: Path, docs: Path, tmp_path: Path) -> None:
    with Running(model, "--state", tmp_path / "home") as server:
        for options in (("--assign",), ("--min-probability", 0.3), ("--precision", 0.8), ("--precision", 0.9999)):
            for what in ("a ripe apple", docs):
                here, there = run("rank", model, what, *options), run("rank", "--server", server.url, what, *options)
                assert (there.code, there.out) == (here.code, here.out)
                assert [line for line in there.err.splitlines() if "precision" in line] == [
                    line for line in here.err.splitlines() if "precision" in line
                ]
