"""push and pull without a hub: the model card, and what is refused before anything is sent."""

import importlib.util
import json
from pathlib import Path

import pytest

from abound import Tagger
from tests.cli.running import Run, write_rows


@pytest.fixture
def measured(run: Run, docs: Path, tmp_path: Path) -> Path:
    assert run("fit", docs, "--model", tmp_path / "measured", "--holdout", "every:5", "--language", "en").code == 0
    return tmp_path / "measured"


def metadata(card: str) -> dict[str, object]:
    head = card.removeprefix("---\n").partition("\n---\n")[0]
    return {name: json.loads(value) for name, value in (line.split(": ", 1) for line in head.splitlines())}


def test_a_dry_run_prints_the_card(run: Run, measured: Path) -> None:
    card = run(
        "push", measured, "library/subjects", "--dry-run", "--license", "cc-by-4.0", "--dataset", "library/titles"
    )
    assert card.code == 0
    assert metadata(card.out) == {
        "license": "cc-by-4.0",
        "language": "en",
        "library_name": "abound",
        "pipeline_tag": "text-classification",
        "tags": ["abound", "multi-label-classification", "label-ranking"],
        "datasets": ["library/titles"],
        "metrics": ["P@1", "P@3", "P@5", "PSP@5", "nDCG@5"],
    }
    assert "# subjects\n" in card.out
    assert "| texts learned | 48 |" in card.out
    assert "`abound fit` measured these on 12 held-out rows, after it had learned 48 others." in card.out
    assert "development rows, not a test set" in card.out
    assert "abound pull library/subjects subjects\n" in card.out
    assert "There is no pickle, and loading never runs code." in card.out
    said = run("push", measured, "library/subjects", "--dry-run", "--language", "fi")
    assert metadata(said.out)["language"] == "fi"
    assert "words and short phrases of its training texts" in said.err
    private = run("push", measured, "library/subjects", "--dry-run", "--private")
    assert "words and short phrases" not in private.err


def test_a_model_without_figures_says_so_and_later_texts_are_counted(run: Run, model: Path, measured: Path) -> None:
    card = run("push", model, "library/subjects", "--dry-run").out
    assert "No figures were measured when the model was fitted." in card
    assert "metrics" not in metadata(card)
    assert run("learn", measured, "--text", "a quince jelly", "--label", "fruit").code == 0
    assert "The model has learned 1 texts since." in run("push", measured, "library/subjects", "--dry-run").out


def test_labels_in_the_card_are_plain_text(run: Run, tmp_path: Path) -> None:
    docs = tmp_path / "odd.jsonl"
    rows = [{"text": "a red apple", "labels": ["<script>|*x*"]}, {"text": "a car", "labels": ["y" * 200]}]
    docs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("fit", docs, "--model", tmp_path / "odd").code == 0
    card = run("push", tmp_path / "odd", "library/odd", "--dry-run").out
    assert "| &#60;script&#62;&#124;&#42;x&#42; | 1 |" in card
    assert f"| {'y' * 79}… | 1 |" in card


def test_a_card_of_your_own(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("# Mine\n")
    assert run("push", model, "a/b", "--dry-run", "--card", tmp_path / "card.md").out == "# Mine\n"
    assert run("push", model, "a/b", "--dry-run", "--card", tmp_path / "none.md").code == 1


def test_figures_are_stored_when_a_model_is_fitted(run: Run, measured: Path, docs: Path) -> None:
    held_out = Tagger.load(measured).held_out
    assert held_out is not None
    assert (held_out.rows, held_out.learned) == (12, 48)
    value, low, high = held_out.measures["P@1"]
    assert low <= value <= high
    assert run("info", measured).json["held_out"] == held_out.as_dict()
    assert "on 12 held-out rows" in " ".join(run("info", measured, "--table").out.split())
    again = run("fit", docs, "--model", measured, "--force")
    assert again.code == 0
    assert Tagger.load(measured).held_out is None


def test_other_models_are_not_pushed(run: Run, tmp_path: Path) -> None:
    refused = run("push", tmp_path, "library/subjects", "--dry-run")
    assert (refused.code, refused.out) == (1, "")
    assert "is not a model" in refused.err


def test_pull_does_not_replace_a_model_unasked(run: Run, model: Path, tmp_path: Path) -> None:
    refused = run("pull", "library/subjects", model)
    assert "already contains a model; replace it with --force" in refused.err
    write_rows(tmp_path / "folder.jsonl")
    assert "is a directory with other files" in run("pull", "library/subjects", tmp_path).err


@pytest.mark.skipif(importlib.util.find_spec("huggingface_hub") is not None, reason="huggingface_hub is installed")
def test_without_huggingface_hub_one_sentence_says_what_to_install(run: Run, model: Path, tmp_path: Path) -> None:
    for command in (("push", model, "library/subjects"), ("pull", "library/subjects", tmp_path / "new")):
        refused = run(*command)
        assert refused.code == 1
        assert "push and pull need huggingface_hub: pip install 'abound[hub]'" in refused.err
