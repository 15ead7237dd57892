"""Odd documents through the command line and a real server: each gets an answer or one clear sentence."""

import io
import json
import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from abound.cli import main
from abound.data.documents import kind_of
from abound.server import Home
from tests.documents import docx, docx_bomb, paragraph, pdf, table
from tests.server.http.running import Running
from tests.server.streams import base

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal")
NO_TEXT = "without text; scanned pages need text recognition (OCR) first"
FRUIT = "a red apple"
DAMAGED_PDF = "the PDF is damaged; download or save it again"


def bomb() -> bytes:
    """Return a Word document that claims to unpack to 2 GiB."""
    body = bytearray(docx_bomb(4 << 20))
    entry = body.rindex(b"PK\x01\x02")  # of the second and last file in the directory of the archive
    body[entry + 24 : entry + 28] = struct.pack("<I", (1 << 31) - 1)
    return bytes(body)


class Odd(NamedTuple):
    """A document; its first label or None; the beginning of its text, or the sentence that refuses it; a note."""

    name: str
    body: bytes
    label: str | None = None
    text: str = ""
    refusal: str = ""
    note: str = ""


ODD = [
    Odd("empty.txt", b"", note=NO_TEXT),
    Odd("nothing.html", b"", note=NO_TEXT),
    Odd("zero.pdf", b"", refusal="the file is empty, so it is not a PDF"),
    Odd("emoji.txt", "🌹".encode(), text="🌹"),
    Odd("whitespace.txt", b" \t\r\n \x0b\x0c " * 100, text=" ", note=NO_TEXT),
    Odd("hebrew.txt", "תפוח אדום apple".encode(), "fruit", "תפוח"),
    Odd("arabic.html", "<p dir=rtl>تفاحة حمراء apple".encode(), "fruit", "تفاحة"),
    Odd("ten_megabytes.txt", b"a red apple and a green pear\n" * 362_000, "fruit", FRUIT),
    Odd("scripts.md", "# яблоко りんご 苹果 แอปเปิ้ล সেব apple".encode(), "fruit", "# яблоко"),
    Odd("nul.txt", b"a red apple\0and a green pear", "fruit", "a red apple\0and"),
    Odd("binary.txt", bytes(range(64)) * 9 + bytes(900), refusal="the file is not text: it has many NUL bytes"),
    Odd("invalid.txt", "äpfel, süß: a red apple ".encode() + b"\xff\xc3", "fruit", "äpfel", note="damaged characters"),
    Odd("utf16.txt", FRUIT.encode("utf-16"), "fruit", FRUIT),
    Odd("latin1.txt", "ein süßer apple".encode("latin-1"), "fruit", "ein süßer", note="read as Windows-1252"),
    Odd("mark.txt", b"\xef\xbb\xbf" + FRUIT.encode(), "fruit", FRUIT),
    Odd("long_word.txt", b"apple" * 200_000, text="apple"),
    Odd("zalgo.txt", f"{''.join(c + chr(0x300 + i) * 50 for i, c in enumerate('rose'))} apple".encode(), "fruit", "r"),
    Odd("control.txt", bytes(range(1, 32)) + b"\x7f a red apple \xc2\x85\xe2\x80\xae", "fruit", "\x01"),
    Odd("noncharacters.txt", "\ufffe \uffff \ue000 \U0010ffff apple".encode(), "fruit", "\ufffe"),
    Odd("scanned.pdf", pdf(), note=NO_TEXT),
    Odd("locked.pdf", pdf("secret", password="secret"), refusal="the PDF is encrypted; save it without a password"),
    Odd("open.pdf", pdf("a red apple", password=""), "fruit", FRUIT),
    Odd("cut_off.pdf", pdf(FRUIT)[:-200], refusal=DAMAGED_PDF),
    Odd("garbage.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 99, refusal=DAMAGED_PDF),
    Odd("login.pdf", b"<!DOCTYPE html><p>Log in", refusal="the file is not a PDF, but seems to be an HTML file"),
    Odd("pages.pdf", pdf("\n".join(["a red apple"] * 300)), "fruit", FRUIT),
    Odd("table.docx", docx(table(("a red", "apple"), ("green", "pear")), paragraph("Head")), "fruit", "a red\napple"),
    Odd("no_zip.docx", b"Dear Sir", refusal="the file is not a Word document"),
    Odd("old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), refusal="an old or encrypted Office document"),
    Odd("bomb.docx", bomb(), refusal="the Word document unpacks to 2,147,483,647 bytes"),
    Odd("entities.docx", docx(paragraph("&a;"), prolog='<!DOCTYPE d [<!ENTITY a "b">]>'), refusal="document type"),
    Odd("script.html", b"<script>if (apple < pear) {}</script>", note=NO_TEXT),
    Odd(
        "charset.html", '<meta charset="utf-8"><p>süßer apple'.encode("latin-1"), "fruit", "süßer", note="Windows-1252"
    ),
    Odd("deep.html", b"<div>" * 100_000 + b"a red apple", "fruit", FRUIT),
    Odd("unclosed.html", b"<p>a red apple <b <i <!-- <a href='", "fruit", FRUIT),
]
IDS = [odd.name for odd in ODD]
assert len(ODD) >= 25


def skip_without_pdfium(odd: Odd) -> None:
    if odd.name.endswith(".pdf") and (odd.label or "damaged" in odd.refusal or "encrypted" in odd.refusal or odd.note):
        pytest.importorskip("pypdfium2")


# -- the command line --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd") / "model"
    base().save(path)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*arguments: object, stdin: bytes = b"") -> tuple[int, list[dict], str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "unexpected" not in err
        return int(caught.value.code or 0), [json.loads(line) for line in out.splitlines()], err

    return run


@pytest.mark.parametrize("odd", ODD, ids=IDS)
def test_a_document_is_ranked_or_refused_in_one_sentence(run, model: Path, tmp_path: Path, odd: Odd) -> None:
    skip_without_pdfium(odd)
    path = tmp_path / odd.name
    path.write_bytes(odd.body)
    code, lines, err = run("rank", model, path, "--format", "documents")
    if odd.refusal:
        assert (code, lines) == (1, [])
        assert err.startswith(f"abound: {path}: ")
        assert odd.refusal in err
        assert err.count("\n") == 1
        return
    assert code == 0
    [line] = lines
    assert line["id"] == odd.name
    assert (line["labels"][0]["label"] if line["labels"] else None) == odd.label
    assert odd.note in err
    if not odd.label:
        assert "1 of 1 rows have no label: none of their words is known to the model" in err


def test_a_directory_of_all_of_them_is_ranked_and_learned(run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    folder = tmp_path / "all"
    folder.mkdir()
    for odd in ODD:
        (folder / odd.name).write_bytes(odd.body if len(odd.body) < 1 << 21 else odd.body[: 1 << 20])
        (folder / odd.name).with_suffix(".key").write_text("fruit\n")
    (folder / "loop").symlink_to(folder)
    (folder / "unreadable.txt").symlink_to("/proc/self/mem")  # reading it fails, even for root
    with open(os.fsencode(folder) + b"/caf\xe9.txt", "wb") as stream:
        stream.write(b"apple")
    readable = sorted([odd.name for odd in ODD if not odd.refusal] + ["caf\\xe9.txt"])
    code, lines, err = run("rank", model, folder, "--on-error", "skip")
    assert code == 0
    assert [line["id"] for line in lines] == readable
    assert f"skipped {len(ODD) + 2 - len(readable)} unreadable documents of" in err
    assert "links to directories: 1" in err
    code, [fitted], err = run("fit", folder, "--on-error", "skip", "--model", tmp_path / "new")
    assert code == 0
    assert fitted["rows"] == len(readable)
    assert f"1 of {len(readable)} rows have no label; put the labels of report.pdf into report.tsv" in err


@pytest.mark.parametrize(
    ("stdin", "arguments", "sentence"),
    [
        (
            rb'{"text": "a \ud800 b"}',
            ["-", "--format", "jsonl"],
            r"abound: <stdin>:1: \ud800 is half of a surrogate pair",
        ),
        (b"a red apple\0\n", ["-"], ""),  # an answer
        (b"\xff\xfea\0", ["-"], "abound: <stdin>:1: the file is UTF-16; save it as UTF-8"),
        (b"caf\xe9", ["-"], "abound: <stdin>:1: byte 0xe9 at position 4 is not UTF-8; save the file as UTF-8"),
        (pdf("secret", password="x"), ["-", "--format", "documents"], "abound: <stdin>: the PDF is encrypted; save it"),
        (b"", ["report.doc", "--format", "documents"], "abound: there is no file 'report.doc'; to rank it as a text"),
    ],
)
def test_odd_standard_input(run, model: Path, stdin: bytes, arguments: list[str], sentence: str) -> None:
    if stdin.startswith(b"%PDF"):
        pytest.importorskip("pypdfium2")
    code, lines, err = run("rank", model, *arguments, stdin=stdin)
    assert code == int(bool(sentence))
    if sentence:
        assert err.startswith(sentence)
    else:
        assert lines[0]["labels"][0]["label"] == "fruit"


# -- the server --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    home = Home.create(tmp_path_factory.mktemp("served") / "home", base())
    with Running(home.path) as server, httpx.Client(base_url=server.url, timeout=60) as server.http:
        yield server


def check_alive(server) -> None:
    """Check that the server answers the next request."""
    assert server.process.poll() is None
    answer = server.http.post("/v1/rank", json={"text": FRUIT, "k": 1})
    assert answer.json()["labels"][0]["label"] == "fruit"


def check_sentence(answer: httpx.Response, status: int, words: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


@pytest.mark.parametrize("odd", ODD, ids=IDS)
def test_the_server_extracts_and_ranks_a_document_or_refuses_it(server, odd: Odd) -> None:
    skip_without_pdfium(odd)
    [media_type, *_] = kind_of(odd.name).media_types
    answer = server.http.post("/v1/text", content=odd.body, headers={"content-type": media_type})
    if odd.refusal:
        check_sentence(answer, 422, odd.refusal)
    else:
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["text"].startswith(odd.text)
        assert ("note" in found) == (odd.note == NO_TEXT)
        assert found.get("is_cut", False) == (len(odd.body) > 1 << 19 and odd.name.endswith(".txt"))
        ranked = server.http.post("/v1/rank", json={"text": found["text"], "k": 1})
        assert ranked.status_code == 200, ranked.text
        labels = ranked.json()["labels"]
        assert (labels[0]["label"] if labels else None) == odd.label
        assert bool(labels) != ("note" in ranked.json())
    check_alive(server)


@pytest.mark.parametrize(
    ("body", "headers", "status", "sentence"),
    [
        (rb'{"text": "a \ud800 apple"}', {}, 400, "the body must be JSON in UTF-8"),
        (b'{"text": "a \xed\xa0\x80 apple"}', {}, 400, "the body must be JSON in UTF-8"),
        (b'{"text": "caf\xe9"}', {}, 400, "the body must be JSON in UTF-8"),
        (FRUIT.encode("utf-16"), {}, 400, "the body must be JSON in UTF-8"),
        (b'{"text": "%s"}' % (b"apple " * 1_700_000), {}, 413, "the body must have at most 1,048,576 bytes"),
    ],
)
def test_odd_requests(server, body: bytes, headers: dict[str, str], status: int, sentence: str) -> None:
    answer = server.http.post("/v1/rank", content=body, headers={"content-type": "application/json", **headers})
    check_sentence(answer, status, sentence)
    check_alive(server)
