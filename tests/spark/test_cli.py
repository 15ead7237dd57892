"""`abound spark`: Parquet in, a model or ranked Parquet out."""

import json

import pytest

from abound import Tagger
from abound.cli import main

pq = pytest.importorskip("pyarrow.parquet")


def run(capsys, *arguments):
    """Run a command in this process, which has a session; return exit code, what it printed, and its messages."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return caught.value.code or 0, printed.out, printed.err


def test_train_rank_and_export(spark, corpus, tmp_path, capsys):
    rows = corpus.numbered()[:300]
    source, model, ranked = tmp_path / "docs.parquet", tmp_path / "model", tmp_path / "ranked"
    spark.createDataFrame(rows, "row long, text string, labels array<string>").write.parquet(str(source))
    params = ("--ranker-param", "few_labels=0", "--ranker-param", "candidates=0")
    trained = ("spark", "fit", source, "--model", model, "--shards", 2, *params, "--ngrams", 1)
    code, out, err = run(capsys, *trained)
    assert code == 0, err
    tagger = Tagger("cascade", ranker_params={"few_labels": 0, "candidates": 0, "shards": 2}, ngrams=1)
    tagger.fit([row[1] for row in rows], [row[2] for row in rows])
    assert json.loads(out)["state_hash"] == tagger.state_hash()
    assert "write: " in err
    code, _, err = run(capsys, *trained)
    assert (code, err) == (1, f"abound: {model} already contains a model; replace it with --force\n")

    for more in ((), ("--force",)):  # the second time it replaces the same by the same
        code, out, err = run(capsys, "spark", "rank", model, source, ranked, "-k", 3, *more)
        assert code == 0, err
        found = {row["row"]: row["ranked"] for row in pq.read_table(ranked).to_pylist()}
        assert found == {
            row[0]: [entry.label for entry in entries]
            for row, entries in zip(rows, tagger.rank_many([row[1] for row in rows], 3), strict=True)
        }
    code, _, err = run(capsys, "spark", "rank", model, source, ranked)
    assert (code, err) == (1, f"abound: {ranked} exists; replace it with --force\n")

    code, out, err = run(capsys, "spark", "export", model, tmp_path / "index.parquet", "-k", 3)
    assert code == 0, err
    assert json.loads(out)["rows"] == pq.read_metadata(tmp_path / "index.parquet").num_rows
    assert "place <= 3" in json.loads(out)["query"]


def test_what_goes_wrong_is_one_sentence(spark, tmp_path, capsys):
    code, _, err = run(capsys, "spark", "fit", tmp_path / "none.parquet", "--model", tmp_path / "model")
    assert code == 1
    assert err.startswith(f"abound: {tmp_path / 'none.parquet'} cannot be read as Parquet: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["fit", "rank", "export"])
def test_every_help_has_an_example(command, capsys):
    code, out, _ = run(capsys, "spark", command, "--help")
    assert code == 0
    assert f"\n    abound spark {command} " in out
