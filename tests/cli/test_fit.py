import json
import re
from pathlib import Path

import pytest

from abound import Tagger, load
from abound.cli import memory
from abound.cli.fit import make_tagger, parse_pairs, parse_span
from abound.server import Home
from abound.server.refitting import fitted_model
from tests.cli.running import Run, write_rows


def test_a_model_is_learnt_and_summed_up(run: Run, docs: Path, tmp_path: Path) -> None:
    result = run("fit", docs, "--model", tmp_path / "m")
    assert result.code == 0
    figures = result.json
    assert (figures["rows"], figures["labels"], figures["skipped"]) == (60, 4, 0)
    assert figures["held_out"] is None
    assert figures["features"] > 10
    assert figures["edges"] > 10
    assert figures["memory_bytes"] > 0


def test_a_model_without_examples_is_refitted_without_them(run: Run, tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    rows = [{"text": f"a text about the number {n}", "labels": ["even" if n % 2 else "odd"]} for n in range(50)]
    docs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, options, n_examples in (("usual", (), 3), ("private", ("--no-examples",), 0)):
        assert run("fit", docs, "--model", tmp_path / name, *options).code == 0
        assert len(Tagger.load(tmp_path / name).examples) == n_examples
        home = Home.create(tmp_path / f"{name}.served", Tagger.load(tmp_path / name))
        assert run("refit", home.path, docs, "--holdout", docs, "--force").code == 0
        assert len(fitted_model(home).examples) == n_examples


def test_several_files_are_one_stream(run: Run, docs: Path, tmp_path: Path) -> None:
    assert run("fit", docs, docs, "--model", tmp_path / "m").json["rows"] == 120
    assert run("fit", docs, docs, "--model", tmp_path / "m2", "--limit", 70).json["rows"] == 70


def test_standard_input_is_read(run: Run, docs: Path, tmp_path: Path) -> None:
    text = docs.read_text()
    result = run("fit", "-", "--format", "jsonl", "--model", tmp_path / "m", "--holdout", "every:20", stdin=text)
    assert result.json["rows"] == 57
    assert result.json["held_out"]["rows"] == 3


def test_a_model_is_replaced_only_with_force(run: Run, docs: Path, model: Path) -> None:
    before = (model / "manifest.json").read_bytes()
    refused = run("fit", "no-such-file.jsonl", "--model", model)  # told before the input is looked at
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"abound: {model} already contains a model; replace it with --force\n"
    assert (model / "manifest.json").read_bytes() == before
    assert run("fit", docs, "--model", model, "--limit", 12, "--force").json["rows"] == 12
    assert run("info", model).json["rows"] == 12


def test_a_directory_of_other_things_is_never_replaced(run: Run, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("dear")
    result = run("fit", docs, "--model", tmp_path / "thesis", "--force")
    assert result.code == 1
    assert "with other files" in result.err


@pytest.mark.parametrize("rule", ["every:20", "share:0.05"])
def test_fit_and_evaluate_hold_the_same_rows_out(run: Run, docs: Path, tmp_path: Path, rule: str) -> None:
    fitted = run("fit", docs, "--model", tmp_path / "m", "--holdout", rule).json
    assert fitted["rows"] == 57
    assert fitted["held_out"]["rows"] == 3
    assert set(fitted["held_out"]["measures"]) == {"P@1", "P@3", "P@5", "nDCG@5", "PSP@5"}
    names = ",".join(fitted["held_out"]["measures"])
    evaluated = run("evaluate", tmp_path / "m", docs, "--holdout", rule, "--metrics", names).json
    assert evaluated["measures"] == fitted["held_out"]["measures"]


def test_a_file_can_be_held_out(run: Run, docs: Path, tmp_path: Path) -> None:
    other = write_rows(tmp_path / "other.jsonl", copies=2)
    result = run("fit", docs, "--model", tmp_path / "m", "--holdout", other).json
    assert (result["rows"], result["held_out"]["rows"]) == (60, 12)


def test_passes_are_made_and_told(run: Run, docs: Path, tmp_path: Path) -> None:
    result = run("fit", docs, "--model", tmp_path / "m", "--passes", 2).json
    assert (result["rows"], result["passes"], result["second_stage"]) == (60, 2, False)
    assert run("info", tmp_path / "m").json["params"]["ranker_params"]["passes"] == 2
    assert run("fit", docs, "--model", tmp_path / "m2").json["passes"] == 3
    streamed = run("fit", "-", "--format", "jsonl", "--model", tmp_path / "m3", stdin=docs.read_text()).json
    assert "passes" not in streamed  # rows of a stream are learnt as they come
    counted = ("--format", "jsonl", "--passes", 3, "--model", tmp_path / "m4")
    assert run("fit", "-", *counted, stdin=docs.read_text()).json["passes"] == 3
    assert load(tmp_path / "m4").ranker.state_hash() == load(tmp_path / "m2").ranker.state_hash()


def test_the_language_and_what_follows_from_it_are_told(run: Run, docs: Path, tmp_path: Path) -> None:
    def told(*options: object) -> str:
        return run("fit", docs, "--model", tmp_path / "m", "--force", *options).err

    assert "language: en in " in told()
    assert "; stem=english" in told()
    assert "language: fi; stem=finnish, char_ngrams=5-5" in told("--language", "fi")
    assert "language: zu; whole words" in told("--language", "zu")  # which has no stemmer
    assert "language: none; whole words" in told("--language", "none")
    assert "language: none; stem=german" in told("--language", "none", "--stem", "german")
    assert "language must be 'auto', None or a code" in told("--language", "english")
    table = run("fit", docs, "--model", tmp_path / "m", "--force", "--language", "none", "--table").out
    assert "none (whole words)" in table
    streamed = run("fit", "-", "--format", "jsonl", "--model", tmp_path / "s", stdin=docs.read_text())
    assert "rows from stdin are learned in one pass" in streamed.err


def test_a_model_is_named_after_its_input(
    run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("fit", docs).json["model"] == docs.name.split(".")[0]
    assert load(tmp_path / docs.name.split(".")[0]).n_rows == 60
    assert "already contains a model; replace it with --force" in run("fit", docs).err
    refused = run("fit", "-", "--format", "jsonl", stdin=docs.read_text())
    assert (refused.code, "name it with --model DIR" in refused.err) == (1, True)


def test_parameters_reach_the_tagger(run: Run, docs: Path, tmp_path: Path) -> None:
    given = ("--ngrams", 1, "--char-ngrams", "3-4", "--ranker-param", "d_max=7")
    assert run("fit", docs, "--model", tmp_path / "m", *given).code == 0
    params = run("info", tmp_path / "m").json["params"]
    assert (params["ngrams"], params["char_ngrams"], params["ranker_params"]["d_max"]) == (1, [3, 4], 7)


def test_memory_is_kept_to_the_limit(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        json.dumps({"text": f"word{n} thing{n % 700} item{n % 300}", "labels": [f"l{n % 50}"]}) for n in range(20_000)
    ]
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    free = run("fit", tmp_path / "many.jsonl", "--model", tmp_path / "free").json
    limit = free["memory_bytes"] // 2
    monkeypatch.setattr(memory, "model_budget", lambda limit: limit)  # what the process itself takes is more than this
    kept = run("fit", tmp_path / "many.jsonl", "--model", tmp_path / "kept", "--max-memory", limit)
    assert kept.json["memory_bytes"] <= limit
    assert kept.json["dropped"]["terms"] > 0
    assert "raise --max-memory" not in kept.err
    assert free["dropped"] is None


def test_a_limit_that_cannot_be_kept_is_told(run: Run, docs: Path, tmp_path: Path) -> None:
    result = run("fit", docs, "--model", tmp_path / "m", "--max-memory", "1M")
    assert result.code == 1
    assert "--max-memory must be more than the" in result.err


def test_the_budget_of_a_model_leaves_room_for_the_process() -> None:
    assert memory.model_budget(1 << 40) < 1 << 39
    assert 0 < memory.resident_bytes() < 1 << 40


def test_memory_is_forecast_before_the_bulk(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "many.jsonl", copies=2000)
    result = run("fit", path, "--model", tmp_path / "m", "--limit", 8000)
    assert re.search(r"forecast from \d,\d\d\d rows: at most about", result.err)
    assert "for about 8,000 rows" in result.err
    assert result.json["rows"] == 8000


def test_progressive_precision_is_measured_before_learning(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "many.jsonl", copies=1000)
    assert run("fit", path, "--model", tmp_path / "m").json["progressive_p1"] > 0.9
    assert run("fit", path, "--model", tmp_path / "m2", "--limit", 500).json["progressive_p1"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ranker", "forest"], "unknown ranker 'forest'; known are"),
        (["--ranker-param", "dmax=3"], "ranker 'cascade' has no parameter 'dmax'; did you mean 'd_max'?"),
        (["--ranker-param", "d_max"], "--ranker-param must be NAME=VALUE, got 'd_max'"),
        (["--char-ngrams", "three"], "--char-ngrams must be LO-HI"),
        (["--max-memory", "lots"], "a size must be a number with K, M, G or T"),
        (["--holdout", "every:1"], "--holdout must be every:N"),
        (["--delimiter", ";"], "format 'jsonl' has no option 'delimiter'"),
        (["--on-error", "ignore"], "on_error must be 'stop' or 'skip'"),
    ],
)
def test_wrong_values_are_one_sentence(run: Run, docs: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    result = run("fit", docs, "--model", tmp_path / "m", *arguments)
    assert (result.code, result.out) == (1, "")
    assert words in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_an_empty_file_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    result = run("fit", tmp_path / "empty.jsonl", "--model", tmp_path / "m")
    assert result.code == 1
    assert "there is nothing to learn in" in result.err


def test_parts_of_values_are_read() -> None:
    assert parse_span("3-5") == (3, 5)
    assert parse_span("4") == (4, 4)
    assert parse_span("none") is None
    assert parse_pairs(["a=1", "b=true", "c=seen", "d=x=y"]) == {"a": 1, "b": True, "c": "seen", "d": "x=y"}


def test_what_is_not_given_keeps_its_default() -> None:
    from abound.tagger import Tagger

    assert make_tagger(ranker_params={}).params() == Tagger().params()


def test_a_skos_vocabulary_names_the_labels(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    finna = Path(__file__).parents[2] / "examples" / "finna"
    options = ("--format", "annif", "--label-names", finna / "subjects.ttl", "--model", tmp_path / "m")
    refused = run("fit", finna / "records.tsv.gz", *options, "--language", "none")
    assert refused.code == 1
    assert "pass --language ..., one of 'en', 'fi'" in refused.err
    found = run("fit", finna / "records.tsv.gz", *options)
    assert found.json["language"] == "en"
    assert "language: en in " in found.err
    assert run("info", tmp_path / "m").json["params"]["stem"] == "english"
    assert run("rank", tmp_path / "m", "Whales of the Atlantic", "-k", "1").json["labels"][0]["name"] == "whales"
    options = (*options[:-1], tmp_path / "fi", "--language", "fi")
    assert run("fit", finna / "records.tsv.gz", *options).json["language"] == "fi"
    assert run("rank", tmp_path / "fi", "valaat", "-k", "1").json["labels"][0]["name"] == "valaat"
