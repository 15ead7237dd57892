"""`abound rerank`: from files of graded documents to a model, a run, and its measures."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Run
from tests.retrieval.ranked import documents

COMMANDS = ("fit", "apply", "evaluate")


def write_letor(path: Path, seed: int, null: bool = False) -> Path:
    X, y, qid = documents(n_queries=15, seed=seed)
    lines = []
    for number, (row, grade, query) in enumerate(zip(X, y, qid, strict=True)):
        values = ["NULL" if null and number % 9 == 0 and i == 1 else f"{value:.6f}" for i, value in enumerate(row)]
        features = " ".join(f"{i}:{value}" for i, value in enumerate(values, 1))
        lines.append(f"{grade} qid:q{query} {features} #docid = d{number}\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_letor(tmp_path / "train.letor", 0)


@pytest.fixture
def ranker(tmp_path: Path, train: Path, run: Run) -> Path:
    assert run("rerank", "fit", train, "--model", tmp_path / "ranker", "-C", 10).code == 0
    return tmp_path / "ranker"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(run: Run, command: str) -> None:
    result = run("rerank", command, "--help")
    assert result.code == 0
    assert f"\n    abound rerank {command} " in result.out


def test_fit_says_how_close_to_the_optimum_it_is(run: Run, train: Path, tmp_path: Path) -> None:
    result = run("rerank", "fit", train, "--model", tmp_path / "m", "-C", 10, "--tol", 1e-4)
    assert result.code == 0
    figures = result.json
    assert (figures["documents"], figures["queries"], figures["C"]) == (180, 15, 10.0)
    assert 0 <= figures["gap"] == pytest.approx(figures["primal"] - figures["dual"])
    assert figures["gap"] <= 1e-4 * figures["primal"]
    assert figures["MAP"] > 0.8


def test_the_validation_documents_choose_c(run: Run, train: Path, tmp_path: Path) -> None:
    valid = write_letor(tmp_path / "valid.letor", 1)
    result = run("rerank", "fit", train, "--model", tmp_path / "m", "-C", "0.000001,10", "--validate", valid)
    assert result.code == 0
    tried = dict(line.removeprefix("C ").split(": MAP ") for line in result.err.splitlines())
    best = max(tried, key=lambda value: float(tried[value].split()[0]))
    assert result.json["C"] == float(best)
    assert len(tried) == 2
    assert run("rerank", "fit", train, "--model", tmp_path / "n", "--validate", valid).err.count("MAP") == 5


def test_apply_prints_a_run_that_evaluate_measures_alike(run: Run, ranker: Path, tmp_path: Path) -> None:
    test = write_letor(tmp_path / "test.letor", 2)
    (tmp_path / "out.run").write_text(run("rerank", "apply", ranker, test).out)
    lines = [line.split() for line in (tmp_path / "out.run").read_text().splitlines()]
    assert len(lines) == 180
    assert [line[3] for line in lines[:12]] == [str(rank) for rank in range(1, 13)]
    scores = [float(line[4]) for line in lines[:12]]
    assert scores == sorted(scores, reverse=True)
    qrels = [line.split() for line in test.read_text().splitlines()]
    (tmp_path / "j.qrels").write_text("".join(f"{r[1][4:]} 0 {r[-1]} {r[0]}\n" for r in qrels))
    by_model = run("rerank", "evaluate", ranker, test, "--metrics", "MAP,nDCG@10,P@5,ROC").json
    by_run = run(
        "rerank", "evaluate", tmp_path / "out.run", "--qrels", tmp_path / "j.qrels", "--metrics", "MAP,nDCG@10,P@5,ROC"
    ).json
    assert by_model["queries"] == by_run["queries"] == 15
    assert by_model["measures"] == pytest.approx(by_run["measures"], abs=0.02)  # a run's ties are in single precision
    assert by_model["measures"]["MAP"] > 0.7


def test_apply_prints_json_and_the_best_only(run: Run, ranker: Path, train: Path) -> None:
    result = run("rerank", "apply", ranker, train, "--json", "-k", 3)
    assert [line["qid"] for line in result.lines] == [f"q{number}" for number in range(15)]
    assert {len(line["documents"]) for line in result.lines} == {3}
    assert result.lines[0]["documents"][0]["id"].startswith("d")


def test_ranks_with_holes_and_normalised_queries(run: Run, tmp_path: Path) -> None:
    train = write_letor(tmp_path / "holes.letor", 0, null=True)
    options = ("--lower-is-better", "--per-query", "minmax", "--loss", "roc", "--thresholds", 5)
    assert run("rerank", "fit", train, "--model", tmp_path / "m", *options).code == 0
    assert run("rerank", "evaluate", tmp_path / "m", train).json["measures"]["MAP"] > 0.6
    refused = run("rerank", "fit", train, "--model", tmp_path / "n", "--thresholds", 0)
    assert refused.code == 1
    assert "Input X contains NaN" in refused.err


def test_svmlight_files_with_queries_are_read_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_text("1 qid:a 1:2\n0 qid:a 2:1\n0 qid:b 1:1\n1 qid:b 1:3\n")
    assert run("rerank", "fit", tmp_path / "t.svm", "--model", tmp_path / "m").json["documents"] == 4
    run_lines = run("rerank", "apply", tmp_path / "m", tmp_path / "t.svm").out.splitlines()
    assert [line.split()[2] for line in run_lines] == ["1", "2", "4", "3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no documents in"),
        ("1 qid:a 1:2\n1 qid:b 1:1\n", "no query has both a relevant and an irrelevant document"),
        ("1 qid:a 0:2\n", "feature numbers must start at 1, got 0"),
    ],
)
def test_documents_that_teach_nothing_are_told(run: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.letor").write_text(text)
    result = run("rerank", "fit", tmp_path / "t.letor", "--model", tmp_path / "m")
    assert result.code == 1
    assert message in result.err
    assert not (tmp_path / "m").exists()


def test_slips_get_one_sentence(run: Run, ranker: Path, train: Path, model: Path, docs: Path, tmp_path: Path) -> None:
    cases = [
        (("fit", train, "--model", ranker), "already contains a model; replace it with --force"),
        (("fit", train, "--model", tmp_path / "x", "-C", "1,2"), "several values of C need --validate FILE"),
        (("fit", train, "--model", tmp_path / "x", "-C", "much"), "-C must be a number"),
        (("fit", docs, "--model", tmp_path / "x"), "format 'jsonl' of"),
        (("apply", model, train), "contains a 'tagger', not a reranker; create one with `abound rerank fit`"),
        (("evaluate", ranker, train, "--metrics", "BLEU"), "unknown metric 'BLEU' of queries"),
    ]
    for arguments, message in cases:
        result = run("rerank", *arguments)
        assert result.code == 1, arguments
        assert message in result.err
        assert len(result.err.strip().splitlines()) == 1
    wide = tmp_path / "wide.letor"
    wide.write_text("1 qid:a 9:1\n")
    assert "have feature 9, but the model has 4 features" in run("rerank", "apply", ranker, wide).err
    assert run("rerank", "evaluate", ranker).code == 2
    (tmp_path / "bad.svm").write_text("a,b qid:q 1:1\n")
    assert "must have one grade and a qid" in run("rerank", "fit", tmp_path / "bad.svm", "-m", tmp_path / "x").err
    (tmp_path / "bad.svm").write_text("good qid:q 1:1\n")
    assert "a number as its grade, got 'good'" in run("rerank", "fit", tmp_path / "bad.svm", "-m", tmp_path / "x").err


def test_the_model_is_the_one_that_python_loads(run: Run, ranker: Path, train: Path) -> None:
    import abound

    loaded = abound.load(ranker)
    first = run("rerank", "apply", ranker, train, "--json").lines[0]
    X, _, qid = documents(n_queries=15, seed=0)
    expected = [query.scores for query in loaded.rank(np.round(X, 6), qid)]
    assert [document["score"] for document in first["documents"]] == pytest.approx(expected[0].tolist())
