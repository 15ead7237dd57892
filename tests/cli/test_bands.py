"""`abound feedback` and `abound rank --bands`."""

from pathlib import Path

from tests.cli.running import Run, write_rows


def test_bands_are_taught_and_shown(run: Run, model: Path, tmp_path: Path) -> None:
    judged = write_rows(tmp_path / "judged.jsonl", copies=60)
    taught = run("feedback", model, judged, "--apply-target", 0.8)
    assert taught.code == 0
    assert taught.json["rows"] == 360
    assert "the target of 80% is reachable" in taught.json["report"]
    labels = run("rank", model, "a red apple and a green pear", "--bands").json["labels"]
    assert labels[0]["label"] == "fruit"
    assert labels[0]["band"] == "apply"
    assert 0.5 < labels[0]["probability"] <= 1
    assert all(entry["band"] in ("apply", "suggest") for entry in labels)
    lines = run("rank", model, judged, "--bands", "--limit", 3, "-k", 1).lines
    assert all(len(line["labels"]) <= 1 for line in lines)
    assert "apply" in run("rank", model, "a red apple and a green pear", "--bands", "--table").out


def test_one_text_can_be_judged(run: Run, model: Path) -> None:
    result = run("feedback", model, "--text", "a red apple", "--accept", "fruit", "--reject", "sport")
    assert result.json["rows"] == 1
    assert "too little feedback" in result.json["report"]
    assert "too little feedback" in run("feedback", model, "--text", "a red apple", "--table").out
    labels = run("rank", model, "a red apple", "--bands").json["labels"]
    assert {entry["band"] for entry in labels} == {"suggest"}  # all are shown until there is enough feedback


def test_what_is_missing_is_said(run: Run, model: Path) -> None:
    result = run("rank", model, "apple", "--bands")
    assert (result.code, result.out) == (1, "")
    assert result.err == "abound: the tagger has no bands yet; call feedback on ranked labels first\n"
    assert "give either INPUT, or --text" in run("feedback", model).err
    assert "--accept and --reject need --text" in run("feedback", model, "x.jsonl", "--accept", "a").err
