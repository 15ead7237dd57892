"""Commands with encoders and with given vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abound import Tagger, data, load
from abound.encoders import GivenVectors
from tests.cli.running import ROWS, Run, write_rows

N = 60  # rows of `docs`
LABELS = sorted({label for labels, _ in ROWS for label in labels})


def vectors_for(docs: Path) -> Any:
    """Return vectors that say which labels a row has."""
    noise = np.random.default_rng(3).normal(scale=0.05, size=(N, len(LABELS)))
    return noise + [[label in row.labels for label in LABELS] for row in data.read(docs)]


@pytest.fixture
def vectors(tmp_path: Path, docs: Path) -> Path:
    np.save(tmp_path / "docs.npy", vectors_for(docs))
    return tmp_path / "docs.npy"


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Return a directory with a table of token vectors."""
    words = sorted({word for _, text in ROWS for word in text.split()})
    folder = tmp_path / "table"
    folder.mkdir()
    model = {"type": "WordPiece", "vocab": {word: number for number, word in enumerate(words)}, "unk_token": "[UNK]"}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model}))
    np.save(folder / "table.npy", np.random.default_rng(1).normal(size=(len(words), 16)).astype(np.float32))
    return folder


def test_fit_with_an_encoder(run: Run, tmp_path: Path, docs: Path, encoder: Path) -> None:
    result = run("fit", docs, "--model", tmp_path / "m", "--embeddings", encoder, "--holdout", "every:10")
    assert result.code == 0, result.err
    assert f"encoder: {encoder}, vectors of 16 numbers, " in result.err
    assert "ms per text" in result.err
    assert "rankings are a blend of words and vectors" in result.err or "rankings use the words alone" in result.err
    assert result.json["held_out"]["labelled"] == 6
    model = load(tmp_path / "m")
    assert model.settings.embeddings == str(encoder)
    assert model.similar("a red apple and a green pear", 1)
    ranked = run("rank", tmp_path / "m", "red apple")
    assert ranked.json["labels"][0]["label"] == "fruit"
    assert run("evaluate", tmp_path / "m", docs).code == 0


def test_info_describes_vectors(run: Run, tmp_path: Path, docs: Path, vectors: Path, model: Path) -> None:
    assert run("info", model).json["second_opinion"] is None
    run("fit", docs, "--model", tmp_path / "m", "--vectors", vectors)
    found = run("info", tmp_path / "m").json["second_opinion"]
    used = load(tmp_path / "m").blends
    expected = {"embeddings": "given:4", "dimensions": 4, "vectors": N, "keeps_texts": True, "blend_is_used": used}
    expected["votes"] = True
    assert found == expected
    shown = run("info", tmp_path / "m", "--table").out
    assert "given:4" in shown
    assert "60 of 4 numbers" in shown
    assert ("by words and vectors" if used else "by words alone") in shown


def test_a_file_of_vectors_is_that_of_python(run: Run, tmp_path: Path, docs: Path, vectors: Path) -> None:
    result = run("fit", docs, "--model", tmp_path / "m", "--vectors", vectors)
    assert result.code == 0, result.err
    assert "encoder: given:4, vectors of 4 numbers\n" in result.err
    rows = list(data.read(docs))
    expected = Tagger(embeddings=GivenVectors(4)).fit(
        [row.text for row in rows], [row.labels for row in rows], vectors=np.load(vectors)
    )
    assert load(tmp_path / "m").state_hash() == expected.state_hash()


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_a_field_of_vectors_is_the_same(run: Run, tmp_path: Path, docs: Path, vectors: Path, name: str) -> None:
    rows = [
        {"text": row.text, "labels": list(row.labels), "v": vector.tolist()}
        for row, vector in zip(data.read(docs), np.load(vectors), strict=True)
    ]
    path = tmp_path / name
    if name.endswith("jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    assert run("fit", docs, "--model", tmp_path / "table", "--vectors", vectors).code == 0
    result = run("fit", path, "--model", tmp_path / "field", "--vector-field", "v")
    assert result.code == 0, result.err
    assert load(tmp_path / "field").state_hash() == load(tmp_path / "table").state_hash()


def test_held_out_rows_have_their_vectors(run: Run, tmp_path: Path, docs: Path, vectors: Path) -> None:
    how = ("--vectors", vectors, "--holdout", "every:10")
    fitted = run("fit", docs, "--model", tmp_path / "m", *how).json["held_out"]["measures"]["P@1"]
    measured = run("evaluate", tmp_path / "m", docs, *how, "--metrics", "P@1")
    assert measured.json["measures"]["P@1"]["value"] == fitted["value"]
    assert "no vector" not in measured.err
    without = run("evaluate", tmp_path / "m", docs, "--metrics", "P@1")
    assert "have no vectors and are known by words alone" in without.err


def test_rank_and_learn_with_vectors(run: Run, tmp_path: Path, docs: Path, vectors: Path) -> None:
    model = tmp_path / "m"
    assert run("fit", docs, "--model", model, "--vectors", vectors).code == 0
    ranked = run("rank", model, docs, "--vectors", vectors)
    assert ranked.code == 0, ranked.err
    expected = load(model).rank_many([row.text for row in data.read(docs)], vectors=np.load(vectors))
    assert [row["labels"][0]["score"] for row in ranked.lines] == [entries[0].score for entries in expected]
    assert run("learn", model, docs, "--vectors", vectors).code == 0
    assert len(load(model).second_opinion.neighbours) == 2 * N


def test_similar_texts_by_words(run: Run, tmp_path: Path, docs: Path, vectors: Path) -> None:
    result = run("fit", docs, "--model", tmp_path / "m", "--embeddings", "words")
    assert result.code == 0, result.err
    assert "similar texts are found by shared words" in result.err
    assert load(tmp_path / "m").similar("a red apple", 1)
    shown = run("info", tmp_path / "m", "--table").out
    assert "by words alone" in shown
    assert "they rank better" not in shown
    refused = run("fit", docs, "--model", tmp_path / "n", "--embeddings", "words", "--vectors", vectors)
    assert "cannot be used here" in refused.err


def test_texts_are_not_kept(run: Run, tmp_path: Path, docs: Path, vectors: Path) -> None:
    run("fit", docs, "--model", tmp_path / "m", "--vectors", vectors, "--no-examples")
    assert not load(tmp_path / "m").second_opinion.keeps_texts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--vectors", "few.npy"), "few.npy has 59 vectors, but the input has more rows"),
        (("--vectors", "many.npy"), "many.npy has 61 vectors, but the input has 60 rows"),
        (("--vectors", "nan.npy"), "nan.npy: vector 3 has a number that is not finite"),
        (("--vectors", "flat.npy"), "flat.npy must be a table of numbers"),
        (("--vectors", "docs.jsonl"), "docs.jsonl is not a table in numpy's format .npy"),
        (("--vectors", "missing.npy"), "missing.npy: No such file"),
        (("--vectors", "docs.npy", "--vector-field", "v"), "either --vectors or --vector-field"),
        (("--vectors", "docs.npy", "--on-error", "skip"), "it cannot be used with --on-error skip"),
        (("--vectors", "docs.npy", "--holdout", "docs.jsonl"), "no vectors for a file of held-out rows"),
        (("--vectors", "docs.npy", "--embeddings", "given:5"), "has 4 numbers, but the vectors of the model have 5"),
        (("--vector-field", "v"), "no field 'v'"),
        (("--embeddings", "nowhere"), "nowhere is not an encoder"),
        (("--embeddings", "given:x"), "must be given:N"),
        (("--embeddings", "wordllama"), "pip install wordllama"),
        (("--embeddings", "sentence-transformers:x"), "pip install sentence-transformers"),
        (("--download",), "--download fetches the model of --embeddings"),
    ],
)
def test_errors_are_one_sentence(
    run: Run,
    tmp_path: Path,
    docs: Path,
    vectors: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    message: str,
) -> None:
    import sys

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    table = np.load(vectors)
    np.save("few.npy", table[:-1])
    np.save("many.npy", np.concatenate([table, table[:1]]))
    np.save("nan.npy", np.where(np.arange(N)[:, None] == 2, np.nan, table))
    np.save("flat.npy", table[0])
    result = run("fit", docs.name, "--model", "m", *options)
    assert result.code == 1
    assert message in result.err
    assert not Path("m/manifest.json").exists()


def test_vectors_of_different_lengths(run: Run, tmp_path: Path) -> None:
    rows = [{"text": "a b", "labels": ["x"], "v": [1, 2]}, {"text": "c", "labels": ["y"], "v": [1]}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("fit", tmp_path / "rows.jsonl", "--vector-field", "v", "--model", tmp_path / "m")
    assert "row 2: the vector has 1 numbers, but others have 2" in result.err
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a", "labels": ["x"], "v": "1"}) + "\n")
    result = run("fit", tmp_path / "rows.jsonl", "--vector-field", "v", "--model", tmp_path / "m")
    assert "the vector must be a list of numbers" in result.err


@pytest.mark.parametrize("command", ["tune", "spark fit"])
def test_commands_without_embeddings_say_so(run: Run, tmp_path: Path, docs: Path, command: str) -> None:
    target = ("--model", tmp_path / "m") if command == "spark fit" else ()
    result = run(*command.split(), docs, *target, "--embeddings", "wordllama")
    assert result.code == 1
    assert "--embeddings cannot be used here" in result.err


def test_a_text_or_a_server_takes_no_vectors(run: Run, tmp_path: Path, model: Path, vectors: Path, docs: Path) -> None:
    assert "cannot be used here" in run("rank", model, "a text", "--vectors", vectors).err
    assert "cannot be used here" in run("rank", model, docs, "--bands", "--vectors", vectors).err
    server = ("--server", "http://127.0.0.1:9")
    assert "cannot be used here" in run("rank", *server, docs, "--vectors", vectors).err
    assert "cannot be used here" in run("learn", *server, docs, "--vectors", vectors).err


def test_vectors_are_converted(run: Run, tmp_path: Path) -> None:
    row = {"text": "a", "labels": ["x"], "v": [1.0, 0.5]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    done = run(
        "convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--read", "vector_field=v", "--write", "vector_field=v"
    )
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "b.jsonl").read_text()) == row
    lost = run("convert", tmp_path / "a.jsonl", tmp_path / "b.csv", "--read", "vector_field=v")
    assert "the document has a vector, which csv cannot represent" in lost.err


def test_a_stream_of_vectors_needs_their_length(run: Run, tmp_path: Path) -> None:
    result = run("fit", "-", "--format", "jsonl", "--vector-field", "v", "--model", tmp_path / "m")
    assert "--embeddings given:N" in result.err


def test_more_rows_than_vectors_are_read_with_a_limit(run: Run, tmp_path: Path, vectors: Path) -> None:
    docs = write_rows(tmp_path / "longer.jsonl", copies=11)
    assert run("fit", docs, "--model", tmp_path / "m", "--vectors", vectors, "--limit", "60").code == 0
