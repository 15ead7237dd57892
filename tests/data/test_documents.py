import codecs
import os
import random
import subprocess
import sys
import time

import pytest

from abound import data
from abound.data.documents import Extractor, Limits
from abound.data.documents.decoding import declared_encoding, decode
from abound.data.documents.html_text import html_text
from abound.data.documents.kinds import DOCX, HTML, PDF, TEXT
from abound.data.documents.worker import extract
from abound.data.formats import Malformed
from abound.errors import DocumentsWarning, pip_install
from tests.documents import docx, docx_bomb, paragraph, pdf, table

LIMITS = Limits(n_bytes=1 << 24, unpacked=1 << 24, characters=100_000, seconds=20.0, memory=1 << 30)
GERMAN = "Über den Wäldern süßer Früchte"


def extracted(body, kind, **limits):
    with Extractor(LIMITS._replace(**limits)) as extractor:
        return extractor.extract(body, kind)


# -- encodings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "encoding", "guessed"),
    [
        (GERMAN.encode(), None, None),
        (codecs.BOM_UTF8 + GERMAN.encode(), None, None),
        (codecs.BOM_UTF16_LE + GERMAN.encode("utf-16-le"), None, None),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), "utf-8", None),
        (codecs.BOM_UTF32_LE + GERMAN.encode("utf-32-le"), None, None),
        (GERMAN.encode("latin-1"), None, "Windows-1252"),
        (GERMAN.encode("latin-1"), "utf-8", "Windows-1252"),  # wrongly declared
        (GERMAN.encode("latin-1"), "iso-8859-1", None),
        (GERMAN.encode(), "iso-8859-1", None),  # wrongly declared, and valid UTF-8
        (GERMAN.encode(), "no-such-encoding", None),
        (GERMAN.encode(), "zlib", None),  # a codec of Python that is not an encoding
        (GERMAN.encode("latin-1"), "undefined", "Windows-1252"),
    ],
)
def test_a_text_is_decoded_by_its_mark_then_as_declared_then_by_what_fits(body, encoding, guessed):
    assert decode(body, encoding) == (GERMAN, guessed)


def test_names_of_encodings_mean_what_they_mean_in_browsers():
    assert decode("„Wort“ – 5 €".encode("cp1252"), "latin-1") == ("„Wort“ – 5 €", None)
    assert decode("漢字①".encode("cp932"), "Shift_JIS") == ("漢字①", None)
    assert decode(b"\x81\x8d a", "latin-1") == ("\x81\x8d a", None)


def test_a_few_damaged_characters_do_not_change_the_encoding():
    text, guessed = decode(GERMAN.encode() + b"\xff end")
    assert text == f"{GERMAN}\ufffd end"
    assert guessed == "UTF-8 with damaged characters"


def test_binary_data_is_not_a_text():
    with pytest.raises(Malformed, match="the file is not text: it has many NUL bytes; save it as UTF-8"):
        decode(GERMAN.encode("utf-16-le"))
    assert decode(b"one NUL \0 in a long enough text").text == "one NUL \0 in a long enough text"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'<meta charset="koi8-r">', "koi8-r"),
        (b"<META http-equiv=Content-Type content='text/html; charset=euc-jp'>", "euc-jp"),
        (b'<?xml version="1.0" encoding="iso-8859-2"?>', "iso-8859-2"),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<p>", None),
    ],
)
def test_the_encoding_that_a_page_declares(head, name):
    assert declared_encoding(head) == name


# -- kinds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<title>A title</title><body>and <i>t</i>ext</body>", "A title\nand text"),
        ("<p>one<p>two<br>three<td>four", "one\ntwo\nthree\nfour"),
        ("<script>if (a < b) c()</script><style>p {}</style>seen<!-- not -->", "seen"),
        ("caf&eacute; &lt;b&gt; &#x1F600; &nosuch;", "café <b> \U0001f600 &nosuch;"),
        ("a <svg/> b <template><p>no</template> c", "a b c"),
        ("<![if !supportLists]>1.<![endif]> item <![x[ y ]]> end <!foo> last", "1. item end last"),
        ("  much \n\n space\u00a0here  ", "much space here"),
        ("<script>only", ""),
        ("text < 5 and <", "text < 5 and <"),
        ("", ""),
    ],
)
def test_the_visible_text_of_html(markup, text):
    assert html_text(markup) == text


def test_a_page_is_read_in_the_encoding_that_it_declares():
    page = '<meta charset="windows-1251"><p>Розы в холодном климате'
    assert extracted(page.encode("cp1251"), HTML) == ("Розы в холодном климате", False, None)


def test_the_text_of_a_word_document_has_tables_headers_and_no_deleted_text():
    body = paragraph("Roses") + table(("apple", "pear"), ("car", "track"))
    body += (
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>"
    )
    box = paragraph("box")
    body += (
        f'<x:AlternateContent xmlns:x="y"><x:Choice>{box}</x:Choice><x:Fallback>{box}</x:Fallback></x:AlternateContent>'
    )
    text = extracted(docx(body, header=paragraph("Header")), DOCX).text
    assert text.split("\n") == ["Roses", "apple", "pear", "car", "track", "a\tb", "box", "Header", ""]


def test_the_text_of_a_pdf():
    pytest.importorskip("pypdfium2")
    assert extracted(pdf("Growing roses (cold climates)\nSecond page: café"), PDF).text == (
        "Growing roses (cold climates)\nSecond page: café"
    )
    assert extracted(pdf(), PDF).text == ""  # a picture
    assert extracted(pdf("with an empty password", password=""), PDF).text == "with an empty password"


REFUSED = [
    (pdf("secret", password="secret"), PDF, "the PDF is encrypted; save it without a password"),
    (pdf("cut off")[:300], PDF, "the PDF is damaged; download or save it again"),
    (b"%PDF-1.7\n" + bytes(range(256)) * 40, PDF, "the PDF is damaged; download or save it again"),
    (
        b"<!DOCTYPE html><p>Please log in",
        PDF,
        "the file is not a PDF, but seems to be an HTML file; download or save it",
    ),
    (b"", PDF, "the file is empty, so it is not a PDF"),
    (b"plain", DOCX, "the file is not a Word document; download or save it again"),
    (b"PK\x03\x04 cut off", DOCX, "the Word document is damaged"),
    (docx(paragraph("x"))[:-30], DOCX, "the Word document is damaged"),
    (b"PK\x03\x04" + docx(paragraph("x"))[20:], DOCX, "the Word document is damaged .negative seek value -16"),
    (docx("<w:p>"), DOCX, "the Word document is damaged .invalid XML: mismatched tag"),
    (docx(paragraph("&a;"), prolog='<!DOCTYPE d [<!ENTITY a "b">]>'), DOCX, "it has a document type declaration"),
    (docx_bomb(32 << 20), DOCX, r"the Word document unpacks to 33,[\d,]+ bytes; at most 16,777,216 are read"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), DOCX, "old or encrypted Office document; save it as .docx"),
    (pdf("x"), TEXT, "the file is a PDF, not a text file; give it the right suffix"),
    (docx(paragraph("x")), HTML, "the file is a zip archive or a Word document, not an HTML file"),
    (bytes(LIMITS.n_bytes + 1), TEXT, "the file has 16,777,217 bytes; at most 16,777,216 are read"),
]


@pytest.mark.parametrize(("body", "kind", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_a_document_that_cannot_be_read_is_one_sentence(body, kind, reason):
    if kind is PDF:
        pytest.importorskip("pypdfium2")
    with pytest.raises(Malformed, match=reason):
        extracted(body, kind)


PAGE = (
    b"<title>x</title><meta charset=utf-8><p>a<!-- c --><![CDATA[x]]><![if x]>&amp;&#x41;<script>a</script><svg/><?pi?>"
)
PIECES = [
    b"<",
    b">",
    b"<!",
    b"<![",
    b"]]>",
    b"--",
    b"&#",
    b"&#xD800;",
    b"charset=punycode",
    b"\0",
    b"\xff",
    b"PK\x03\x04",
]


@pytest.mark.parametrize(
    ("kind", "body"), [("html", PAGE), ("docx", docx(paragraph("a &amp; b") + table(("c", "d"))))], ids=["html", "docx"]
)
def test_changed_documents_have_a_text_or_a_reason(kind, body):
    request = {"kind": kind, "encoding": None, "characters": 1000, "unpacked": 1 << 20, "memory": 1 << 30}
    chance = random.Random(7)
    answers = set()
    for _ in range(1500):
        changed = bytearray(body)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(changed) + 1)
            if chance.random() < 0.4:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            elif chance.random() < 0.5:
                changed[at:at] = chance.choice(PIECES)
            else:
                del changed[at : at + chance.randrange(20)]
        answers |= extract(bytes(changed), request).keys()  # an unexpected error would end the process
    assert answers >= ({"text"} if kind == "html" else {"text", "reason"})


# -- limits ------------------------------------------------------------------------------------------


def test_a_document_that_takes_too_long_is_ended_and_the_next_one_is_read():
    with Extractor(LIMITS._replace(seconds=2.0)) as extractor:
        started = time.monotonic()
        with pytest.raises(Malformed, match="the document takes more than 2 seconds to read"):
            extractor.extract(b"<!--" * 2_000_000, HTML)  # quadratic in Python's parser
        assert time.monotonic() - started < 20
        assert extractor.extract(b"<p>next", HTML).text == "next"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce a limit of the address space")
def test_a_document_that_needs_too_much_memory_is_ended():
    with Extractor(LIMITS._replace(memory=300 << 20, n_bytes=1 << 27)) as extractor:
        with pytest.raises(Malformed, match=r"needs more than 300 MiB of memory|too complex"):
            extractor.extract(b"<p>" + b"word " * (20 << 20), HTML)
        assert extractor.extract(b"<p>next", HTML).text == "next"


def test_a_pdf_that_draws_forms_without_end_is_ended():
    pytest.importorskip("pypdfium2")
    with pytest.raises(Malformed, match=r"takes more than 3 seconds|too complex|needs more than"):
        extracted(pdf(loop=True), PDF, seconds=3.0, memory=400 << 20)


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"word " * 1000, TEXT), (b"<p>" + b"word " * 1000, HTML), (docx(paragraph("word " * 1000)), DOCX)],
    ids=["text", "html", "docx"],
)
def test_a_text_is_cut_at_the_limit(body, kind):
    text, is_cut, _ = extracted(body, kind, characters=100)
    assert (text, is_cut) == ("word " * 20, True)


def test_a_pdf_that_is_cut_says_so():
    pytest.importorskip("pypdfium2")
    # PDFium ends lines by two characters, of which one is left.
    page = "(ab) Tj 0 -20 Td " * 30
    body = pdf("\n".join(["ab"] * 20)).replace(b"(ab) Tj", page.encode())
    whole = extracted(body, PDF).text
    assert whole.count("a") == 600
    for characters in (300, len(whole) - 1):
        text, is_cut, _ = extracted(body, PDF, characters=characters)
        assert (text, is_cut) == (whole[:characters], True)
    assert not extracted(body, PDF, characters=len(whole)).is_cut


def test_a_process_that_cannot_start_is_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Malformed, match="damaged or too complex"):
        extracted(b"<p>x", HTML)


# -- directories -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.txt").write_text("second text")
    (folder / "b.tsv").write_text("\ufeff<http://x/1>\tone\textra\nhttp://x/2\ttwo\n\n<http://x/1>\tagain\n")
    (folder / "b.key").write_text("ignored, since there is a .tsv")
    (folder / "a.html").write_text("<p>first text")
    (folder / "a.key").write_text("apple\nred pear\r\n")
    (folder / "sub" / "c.docx").write_bytes(docx(paragraph("third text")))
    return folder


def test_a_directory_is_read_sorted_with_the_labels_beside(folder):
    assert list(data.read(folder)) == [
        data.Document(("apple", "red pear"), "first text", "a.html"),
        data.Document(("http://x/1", "http://x/2"), "second text", "b.txt"),
        data.Document((), "third text\n", "sub/c.docx"),
    ]
    reader = data.read(folder, label_files="none")
    assert reader.format == "documents"
    assert [document.labels for document in reader] == [(), (), ()]
    assert reader.bytes_read == reader.size


def test_skipped_files_are_counted_in_one_warning(folder, recwarn):
    for name in ("x.jpg", "y.JPG", "noise", ".hidden.txt", "~$c.docx", "orphan.key", "b.pdf"):
        (folder / name).write_text("x")
    os.mkfifo(folder / "pipe.txt")  # reading it would wait forever
    (folder / "broken.txt").symlink_to("nothing")
    (folder / "loop").symlink_to(folder)
    with pytest.warns(DocumentsWarning) as caught:
        assert [document.id for document in data.read(folder)] == ["a.html", "b.txt", "sub/c.docx"]
    [message] = [str(warning.message) for warning in caught]
    assert message.startswith(f"skipped 8 files of {folder} (")
    assert ".jpg: 2" in message
    assert "not regular files: 2" in message


def test_a_link_to_a_document_is_read(folder):
    (folder / "z.txt").symlink_to(folder / "b.txt")
    assert list(data.read(folder))[-1] == data.Document((), "second text", "z.txt")


def test_names_that_are_not_utf8_have_escapes(folder):
    with open(os.fsencode(folder) + b"/caf\xe9.txt", "w") as stream:
        stream.write("text")
    assert "caf\\xe9.txt" in [document.id for document in data.read(folder)]


def test_a_directory_without_documents_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is no document in the directory '.*' \(\.txt, \.md, \.html"):
        data.read(tmp_path)
    (tmp_path / "x.jpg").write_text("x")
    with pytest.raises(ValueError, match="it has 1 other files"):
        data.read(tmp_path)


def test_an_unreadable_document_stops_or_is_skipped(folder):
    (folder / "bad.docx").write_bytes(b"not a zip")
    with pytest.raises(data.DataError) as caught:
        list(data.read(folder))
    reason = "the file is not a Word document; download or save it again"
    assert str(caught.value) == f"{folder}/bad.docx: {reason}; skip such documents with on_error='skip'"
    reader = data.read(folder, on_error="skip")
    assert len(list(reader)) == 3
    assert [str(error) for error in reader.skipped.errors] == [f"{folder}/bad.docx: {reason}"]


def test_labels_that_are_not_utf8_are_refused(folder):
    (folder / "a.key").write_bytes("Äpfel".encode("latin-1"))
    with pytest.raises(data.DataError, match=r"a\.key: byte 0xc4 at position 1 is not UTF-8"):
        list(data.read(folder))


def test_documents_without_text_or_in_another_encoding_are_a_warning(tmp_path):
    for name, body in (("a.html", b"<script>x</script>"), ("b.txt", b" "), ("c.txt", GERMAN.encode("latin-1"))):
        (tmp_path / name).write_bytes(body)
    with pytest.warns(DocumentsWarning) as caught:
        list(data.read(tmp_path))
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "2 documents (the first: a.html) are without text; scanned pages need text recognition" in messages[0]
    assert "c.txt is not in UTF-8" in messages[1]
    assert [document.text for document in data.read(tmp_path, encoding="latin-1")][-1] == GERMAN


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_single_document_may_be_compressed_and_has_its_labels_beside(folder, suffix, tmp_path):
    path = tmp_path / f"one.docx{suffix}"
    data_written = docx(paragraph("one"))
    from abound.data.streams import open_output

    with open_output(str(path)) as stream:
        stream.write(data_written)
    (tmp_path / "one.key").write_text("label")
    assert list(data.read(path)) == [data.Document(("label",), "one\n", path.name)]


def test_a_text_file_is_one_document_if_asked(folder):
    assert [document.text for document in data.read(folder / "b.txt", "documents")] == ["second text"]


def test_documents_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="documents can be read, but not written; write another format"):
        data.write(tmp_path / "x.pdf", [])
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_reported_before_anything_is_read(folder):
    (folder / "z.pdf").write_bytes(pdf("x"))
    code = (
        "import sys; sys.modules['pypdfium2'] = None\n"
        "import importlib.util; importlib.util.find_spec = lambda name: None\n"
        "from abound import data\n"
        f"try: data.read({str(folder)!r})\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"PDF files need pypdfium2: {pip_install('documents')}\n"
