"""learn, evaluate, explain, info and convert."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Run, write_rows


def test_a_taught_label_is_ranked_at_once(run: Run, model: Path) -> None:
    result = run("learn", model, "--text", "a quince jelly", "--label", "preserves", "--label", "fruit")
    assert result.code == 0
    taught = {entry["label"]: entry for entry in result.json["taught"]}
    assert taught["preserves"]["rank_before"] is None
    assert taught["preserves"]["rank_after"] <= 2
    assert result.json["new_labels"] == 1
    assert result.json["rows_in_all"] == 61
    labels = [entry["label"] for entry in run("rank", model, "quince").json["labels"]]
    assert "preserves" in labels


def test_more_rows_are_learnt_in_place(run: Run, model: Path, docs: Path) -> None:
    result = run("learn", model, docs, "--limit", 5)
    assert (result.json["rows"], result.json["rows_in_all"]) == (5, 65)
    assert run("info", model).json["rows"] == 65


@pytest.mark.parametrize(
    "arguments", [[], ["--text", "a"], ["--label", "x"], ["docs.jsonl", "--text", "a", "--label", "x"]]
)
def test_learn_says_what_belongs_together(run: Run, model: Path, arguments: list[str]) -> None:
    result = run("learn", model, *arguments)
    assert (result.code, result.out) == (2, "")


def test_measures_have_intervals(run: Run, model: Path, docs: Path) -> None:
    result = run("evaluate", model, docs, "--metrics", "P@1,MRR,R@3")
    assert result.json["rows"] == result.json["labelled"] == 60
    assert list(result.json["measures"]) == ["P@1", "MRR", "R@3"]
    for figure in result.json["measures"].values():
        assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1
    assert "95% interval" in run("evaluate", model, docs, "--table").out


def test_rows_without_a_label_count_for_nothing(run: Run, model: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"text": "apple", "labels": []}\n{"text": "red apple", "labels": ["fruit"]}\n')
    result = run("evaluate", model, bare, "--metrics", "P@1").json
    assert (result["rows"], result["labelled"], result["measures"]["P@1"]["value"]) == (2, 1, 1.0)
    bare.write_text('{"text": "apple", "labels": []}\n')
    refused = run("evaluate", model, bare)
    assert (refused.code, refused.out) == (1, "")
    assert "there is nothing to measure" in refused.err


def test_an_unknown_measure_is_told_before_any_work(run: Run, docs: Path) -> None:
    result = run("evaluate", "no-such-model", docs, "--metrics", "P@1,precision")
    assert result.code == 1
    assert "unknown metric 'precision'; the metrics are P@k" in result.err


def test_votes_sum_to_the_score(run: Run, model: Path) -> None:
    text = "red apple pie"
    ranked = {entry["label"]: entry["score"] for entry in run("rank", model, text).json["labels"]}
    lines = run("explain", model, text, "-k", 2).lines
    assert len(lines) == 2
    for line in lines:
        votes = [line["prior"], *(word["vote"] for word in line["words"])]
        assert sum(votes) == pytest.approx(line["score"], rel=1e-12)
        assert line["score"] == pytest.approx(ranked[line["label"]], rel=1e-12)
    (single,) = run("explain", model, text, "--label", "fruit").lines
    places = {word["word"]: word["spans"] for word in single["words"]}
    assert places["apple"] == [[4, 9]]


def test_an_explanation_is_drawn(run: Run, model: Path) -> None:
    out = run("explain", model, "red apple pie", "-k", 1, "--table").out
    assert out.startswith("red apple pie\n")
    assert "vote" in out
    assert "(bias)" in out
    assert "score" in out
    nothing = run("explain", model, "qqqq", "--table")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "no label to explain: no known word: its only word does not occur in the training texts\n"


def test_an_unknown_label_is_told(run: Run, model: Path) -> None:
    result = run("explain", model, "red apple", "--label", "fruits")
    assert result.code == 1
    assert "label 'fruits' is unknown" in result.err


def test_info_says_what_a_model_is(run: Run, model: Path) -> None:
    facts = run("info", model).json
    assert (facts["rows"], facts["labels"], facts["ranker"], facts["format_version"]) == (60, 4, "cascade", 5)
    assert facts["disk_bytes"] == sum(path.stat().st_size for path in model.iterdir())
    assert facts["frequent"][0] == {"label": "fruit", "rows": 20, "name": "fruit"}
    table = run("info", model, "--table").out
    assert "most frequent labels" in table
    assert "d_max" in table


def test_no_model_is_told(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        result = run("info", path)
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("abound: ")
        assert result.err.count("\n") == 1


def test_documents_are_converted_there_and_back(run: Run, docs: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "docs.csv.gz", tmp_path / "back.jsonl"
    result = run("convert", docs, there)
    assert (result.code, result.out, result.err) == (0, "", f"wrote 60 records to {there}\n")
    assert run("convert", there, back).code == 0
    read, written = (path.read_text().splitlines() for path in (back, docs))
    assert [json.loads(line) for line in read] == [json.loads(line) for line in written]


def test_convert_keeps_what_exists(run: Run, docs: Path, tmp_path: Path) -> None:
    target = write_rows(tmp_path / "old.jsonl", copies=1)
    refused = run("convert", docs, target)
    assert (refused.code, refused.err) == (1, f"abound: {target} exists; replace it with --force\n")
    assert run("convert", docs, target, "--force", "--limit", 3).code == 0
    assert len(target.read_text().splitlines()) == 3


def test_convert_takes_options_of_both_formats(run: Run, docs: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    run("convert", docs, target, "--write", "text_field=title", "--write", "label-separator=;", "--limit", 3)
    lines = target.read_text().splitlines()
    assert "title" in lines[0]
    assert "fruit;cooking" in lines[3]
    assert run("convert", docs, tmp_path / "x.csv", "--write", "separator").code == 1


def test_convert_goes_between_formats_of_one_kind(run: Run, docs: Path, tmp_path: Path) -> None:
    result = run("convert", docs, tmp_path / "x.svm", "--to", "svmlight")
    assert result.code == 1
    assert "from jsonl you can convert to annif, csv, fasttext" in result.err


def test_formats_are_listed(run: Run) -> None:
    from abound.data import FORMATS

    assert [line["format"] for line in run("convert", "--list").lines] == list(FORMATS)
    assert "fasttext" in run("convert", "--list", "--table").out
