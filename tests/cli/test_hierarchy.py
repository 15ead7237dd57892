"""`abound fit`, `rank` and `evaluate` with a hierarchy of labels."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Run

E = "http://example.org/"
VOCABULARY = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix e: <http://example.org/> .
e:food skos:prefLabel "Food"@en .
e:plants a skos:Concept ; skos:prefLabel "plants"@en ; skos:topConceptOf e:food .
e:fruit a skos:Concept ; skos:prefLabel "fruit"@en ; skos:broader e:plants ; skos:inScheme e:food .
e:apples a skos:Concept ; skos:prefLabel "apples"@en ; skos:broader e:fruit, e:nowhere ; skos:inScheme e:food .
e:cars a skos:Concept ; skos:prefLabel "cars"@en ; skos:broader e:cars .
e:autos a skos:Concept ; skos:prefLabel "autos"@en ; owl:deprecated true ; dct:isReplacedBy e:cars .
e:carts a skos:Concept ; skos:prefLabel "carts"@en ; owl:deprecated true .
"""


def written(folder: Path) -> tuple[Path, Path]:
    """Write texts with labels of the vocabulary, and the vocabulary."""
    kinds = [
        ("a sweet ripe apple from the tree number", ["apples", "fruit"]),
        ("a bowl of berries and pears for day", ["fruit"]),
        ("a green leaf and a root in garden", ["plants"]),
        ("the fast engine on the road of town", ["autos"]),
        ("four wheels and a motor in race", ["cars"]),
        ("an old horse and its wooden wheels in village", ["carts"]),
    ]
    rows = [
        {"text": f"{text} {number}", "labels": [E + label for label in labels]}
        for number in range(40)
        for text, labels in kinds
    ]
    docs, vocabulary = folder / "docs.jsonl", folder / "vocabulary.ttl"
    docs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    vocabulary.write_text(VOCABULARY)
    return docs, vocabulary


@pytest.fixture
def model(tmp_path: Path, run: Run) -> Path:
    docs, vocabulary = written(tmp_path)
    path = tmp_path / "model"
    result = run("fit", docs, "--label-names", vocabulary, "--language", "en", "--model", path)
    assert result.code == 0, result.err
    notes = result.err.splitlines()
    assert "hierarchy: 4 concepts, 1 top concept" in notes
    assert "1 relations to broader concepts that the vocabulary does not have were ignored" in notes
    assert "1 relations to broader concepts that form a cycle were ignored" in notes
    said = "2 learned labels are deprecated, 1 of them with a replacement; --replace-deprecated learns the replacements"
    assert said in notes
    return path


def labels(result: object) -> list[str]:
    return [entry["label"].removeprefix(E) for entry in result.json["labels"]]  # type: ignore[attr-defined]


def test_deprecated_labels_are_replaced_if_asked(run: Run, tmp_path: Path) -> None:
    docs, vocabulary = written(tmp_path)
    options = ("--label-names", vocabulary, "--language", "en", "--replace-deprecated", "--holdout", docs)
    result = run("fit", docs, *options, "--model", tmp_path / "model")
    assert "1 learned labels are deprecated, 0 of them with a replacement\n" in result.err
    assert result.json["labels"] == 5
    assert labels(run("rank", tmp_path / "model", "fast engine", "-k", 1)) == ["cars"]
    precision = [
        run("evaluate", tmp_path / "model", docs, *options).json["measures"]["P@1"]["value"]
        for options in ((), ("--replace-deprecated",))
    ]
    assert precision[0] < precision[1] - 0.1  # a sixth of the labels are deprecated
    refused = run("fit", docs, "--replace-deprecated", "--model", tmp_path / "other")
    assert refused.code == 1
    assert "--replace-deprecated needs a SKOS vocabulary" in refused.err


def test_labels_are_selected_by_branch_scheme_name_and_file(run: Run, model: Path, tmp_path: Path) -> None:
    text = "apple berries leaf engine wheels"
    every = labels(run("rank", model, text))
    assert len(every) == 6
    branch = {"apples", "fruit", "plants"}
    for what in (E + "plants", "Plants", E + "food", "Food"):
        assert labels(run("rank", model, text, "--only", what)) == [label for label in every if label in branch]
    assert labels(run("rank", model, text, "--only", f"={E}plants")) == ["plants"]
    some = ["--only", "fruit", "--only", "cars", "--without", "apples"]
    assert labels(run("rank", model, text, *some)) == [label for label in every if label in ("fruit", "cars")]
    (tmp_path / "list.tsv").write_text(f"<{E}plants>\tplants\n\n{E}unknown\n")
    result = run("rank", model, text, "--only", tmp_path / "list.tsv")
    assert labels(result) == ["plants"]
    assert f"1 of 2 labels of {tmp_path / 'list.tsv'} are not known to the model" in result.err
    refused = run("rank", model, text, "--without", "nonsense")
    assert refused.code == 1
    assert "'nonsense' is not a label, the name of a label, or a scheme of the model" in refused.err
    none = run("rank", model, "engine", "--only", E + "plants", "-k", 1, "--threshold", 1e9)
    assert labels(none) == []


def test_paths_are_printed_if_asked(run: Run, model: Path) -> None:
    found = run("rank", model, "a sweet ripe apple", "--paths").json["labels"]
    paths = {entry["label"].removeprefix(E): entry["path"] for entry in found}
    assert paths["apples"] == ["plants", "fruit", "apples"]
    assert paths["autos"] == []
    assert "path" not in run("rank", model, "a sweet ripe apple").json["labels"][0]
    assert "plants > fruit" in run("rank", model, "a sweet ripe apple", "--paths", "--table").out


def test_parents_are_dropped_if_asked_and_from_labels_to_apply(run: Run, model: Path) -> None:
    text = "a sweet ripe apple from the tree"
    assert {"apples", "fruit"} <= set(labels(run("rank", model, text)))
    near = {"apples", "fruit", "plants"}
    assert len(near & set(labels(run("rank", model, text, "--drop-parents")))) == 1
    assert len(near & set(labels(run("rank", model, text, "--assign")))) == 1
    assert len(near & set(labels(run("rank", model, text, "--assign", "--keep-parents")))) == 2
    refused = run("rank", model, text, "--bands", "--only", "fruit")
    assert refused.code == 2
    assert "--bands cannot be combined" in refused.err


def test_evaluate_measures_with_the_hierarchy(run: Run, model: Path, tmp_path: Path) -> None:
    docs, _ = written(tmp_path)
    figures = run("evaluate", model, docs).json
    assert set(figures["hierarchical"]) == {"precision", "recall", "f1"}
    assert figures["assigned"]["precision"] <= figures["hierarchical"]["precision"] <= 1
    assert "hierarchical F1" in run("evaluate", model, docs, "--table").out
    part = run("evaluate", model, docs, "--only", "fruit").json
    assert (part["rows"], part["labelled"]) == (240, 80)
    refused = run("evaluate", model, docs, "--only", "fruit", "--plot", tmp_path / "plots")
    assert refused.err == "abound: --plot draws all labels; omit --only and --without\n"


def test_a_table_gives_the_hierarchy(run: Run, tmp_path: Path) -> None:
    docs, _ = written(tmp_path)
    (tmp_path / "tree.csv").write_text(f"child,parent\n{E}apples,{E}fruit\n{E}fruit,{E}plants\n")
    result = run("fit", docs, "--hierarchy", tmp_path / "tree.csv", "--model", tmp_path / "model")
    assert "hierarchy: 3 concepts, 1 top concept" in result.err
    first = run("rank", tmp_path / "model", "a sweet ripe apple", "--paths", "--only", f"={E}apples").json["labels"][0]
    assert first["path"] == [E + "plants", E + "fruit", E + "apples"]
