"""Directories of documents and single documents on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.running import ROWS, Run
from tests.documents import docx, paragraph


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Return a directory of texts, pages and Word documents with labels."""
    folder = tmp_path / "reports"
    for copy in range(5):
        (folder / str(copy)).mkdir(parents=True)
        for number, (labels, text) in enumerate(ROWS):
            name, whole = folder / str(copy) / f"r{number}", f"{text} {copy}"
            name.with_suffix(".key").write_text("\n".join(labels))
            if number % 3 == 0:
                name.with_suffix(".docx").write_bytes(docx(paragraph(whole)))
            elif number % 3 == 1:
                name.with_suffix(".html").write_text(f"<title>{whole}</title>")
            else:
                name.with_suffix(".txt").write_text(whole)
    return folder


def test_a_directory_is_fitted_evaluated_learned_and_ranked(run: Run, reports: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    (reports / "picture.jpg").write_text("x")
    (reports / "unlabelled.txt").write_text("an apple")
    fitted = run("fit", reports, "--model", model, "--holdout", "every:6")
    assert fitted.code == 0
    assert fitted.json["rows"] == 26
    assert fitted.json["labels"] == 4
    assert f"abound: skipped 1 file of {reports} (.jpg: 1)" in fitted.err
    assert "1 of 26 rows have no label; put the labels of report.pdf into report.tsv" in fitted.err
    assert run("evaluate", model, reports).json["labelled"] == 30
    assert run("learn", model, reports).json["rows"] == 31
    ranked = run("rank", model, reports, "-k", 1).lines
    assert [line["id"] for line in ranked[:3]] == ["0/r0.docx", "0/r1.html", "0/r2.txt"]
    assert ranked[0]["labels"][0]["label"] == "fruit"


def test_a_directory_gives_the_model_of_its_rows(run: Run, reports: Path, tmp_path: Path) -> None:
    assert run("convert", reports, tmp_path / "rows.jsonl").code == 0
    first = json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])
    assert first == {"id": "0/r0.docx", "labels": ["fruit"], "text": "a red apple and a green pear 0\n"}
    for model, source in (("one", reports), ("two", tmp_path / "rows.jsonl")):
        assert run("fit", source, "--model", tmp_path / model).code == 0
    for again in (False, True):
        one, two = (run("info", tmp_path / model, "--json").json for model in ("one", "two"))
        assert one["state_hash"] == two["state_hash"]
        if not again:
            assert run("learn", tmp_path / "one", reports).code == 0
            assert run("learn", tmp_path / "two", tmp_path / "rows.jsonl").code == 0


def test_a_single_document_is_ranked_and_explained(run: Run, reports: Path, model: Path) -> None:
    [line] = run("rank", model, reports / "0" / "r0.docx", "-k", 1).lines
    assert line["id"] == "r0.docx"
    assert line["labels"][0]["label"] == "fruit"
    shown = run("rank", model, reports / "0" / "r0.docx", "--table")
    assert "a red apple and a green pear 0" in shown.out
    explained = run("explain", model, reports / "0" / "r0.docx", "-k", 1)
    assert explained.json["label"] == "fruit"
    assert "apple" in [word["word"] for word in explained.json["words"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rank", "MODEL", "missing.pdf"], "abound: there is no file 'missing.pdf'; to rank it as a text, use --text"),
        (
            ["rank", "MODEL", "EMPTY"],
            "(.txt, .md, .html, .htm, .xhtml, .docx, .pdf); to rank its name as a text, use --text",
        ),
        (["fit", "EMPTY", "--model", "new"], "abound: there is no document in the directory 'EMPTY'"),
        (
            ["fit", "BARE", "--model", "new"],
            "none of the 1 rows of BARE has a label, so there is nothing to learn; put",
        ),
        (["rank", "MODEL", "BARE", "--text-field", "x"], "abound: format 'documents' has no option 'text_field'"),
        (["rank", "MODEL", "BARE", "--format", "jsonl"], "abound: 'BARE' is a directory; name a file in it"),
        (["convert", "DOCS", "x.pdf"], "abound: documents can be read, but not written; write another format"),
    ],
)
def test_wrong_input_is_one_sentence(
    run: Run, docs: Path, model: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "a.txt").write_text("a text")
    names = {
        "MODEL": model,
        "DOCS": docs,
        "EMPTY": tmp_path / "empty",
        "BARE": tmp_path / "bare",
        "new": tmp_path / "n",
    }
    done = run(*(names.get(argument, argument) for argument in arguments))
    assert done.code == 1
    for name in ("EMPTY", "BARE"):
        message = message.replace(name, str(names[name]))
    assert message in done.err
    assert "Traceback" not in done.err


def test_one_unreadable_document_stops_or_is_skipped(run: Run, reports: Path, model: Path) -> None:
    (reports / "0" / "bad.docx").write_text("not a zip")
    stopped = run("rank", model, reports)
    assert stopped.code == 1
    assert stopped.err.endswith("download or save it again; skip such documents with --on-error 'skip'\n")
    skipped = run("rank", model, reports, "--on-error", "skip")
    assert skipped.code == 0
    assert len(skipped.lines) == 30
    assert "skipped 1 unreadable documents of" in skipped.err


def test_lines_in_utf16_are_one_sentence(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("apple\n", encoding="utf-16")
    done = run("rank", model, tmp_path / "lines.txt")
    assert done.code == 1
    assert done.err == f"abound: {tmp_path}/lines.txt:1: the file is UTF-16; save it as UTF-8\n"
