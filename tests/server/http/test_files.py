"""The endpoint that extracts the text of a file: its contract and its limits, on real servers."""

import json
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from abound.errors import ServerError, pip_install
from abound.server import Home
from abound.server.http.files import LIMITS
from abound.server.http.limits import MAX_WORDS, TEXT_BYTES, check_text, cut_text
from tests.documents import DOCX_TYPE, docx, paragraph, pdf
from tests.server.http.running import Running
from tests.server.streams import base

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal")
HOSTILE = b"<!--" * 4_000_000  # takes Python's parser minutes
SECONDS = 2.0
PROGRAM = f"""
import sys
from abound.cli import main
from abound.server.http import files
files.LIMITS = files.LIMITS._replace(seconds={SECONDS})
main(["serve", *sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = Home.create(tmp_path_factory.mktemp("files") / "home", base())
    with Running(home.path, program=("-c", PROGRAM)) as server:
        yield server


def send(server, body, media_type, **headers):
    headers = {"content-type": media_type, **headers}
    return httpx.post(f"{server.url}/v1/text", content=body, headers=headers, timeout=60)


def test_the_content_type_says_how_a_file_is_read(server):
    assert send(server, b"<p>a red <b>apple", "text/html").json() == {"text": "a red apple"}
    assert send(server, b"<p>a red apple", "text/plain").json() == {"text": "<p>a red apple"}
    assert send(server, docx(paragraph("a red apple")), DOCX_TYPE).json() == {"text": "a red apple\n"}
    assert send(server, "роза".encode("koi8-r"), "Text/Plain; charset=KOI8-R").json() == {"text": "роза"}
    assert send(server, "роза".encode("koi8-r"), 'text/html;charset="koi8-r"').json() == {"text": "роза"}


@pytest.mark.parametrize("media_type", ["", "application/json", "image/png", "application/x-www-form-urlencoded"])
def test_another_content_type_is_refused(server, media_type):
    answer = send(server, b"{}", media_type)
    assert answer.status_code == 415
    assert answer.json()["detail"].startswith("the file must be sent as one of text/plain, text/markdown, text/html,")


def test_a_large_file_is_refused_and_a_long_text_is_cut_to_what_can_be_ranked(server):
    refused = send(server, bytes(LIMITS.n_bytes + 1), "application/pdf")
    assert (refused.status_code, refused.json()["detail"]) == (413, "the body must have at most 16,777,216 bytes")
    for text in ("ä" * TEXT_BYTES, "a " * MAX_WORDS * 2):
        found = send(server, text.encode(), "text/plain").json()
        assert found["is_cut"]
        assert text.startswith(found["text"])
        assert len(found["text"]) > len(text) // 4
        ranked = httpx.post(f"{server.url}/v1/rank", json={"text": found["text"]}, timeout=120)
        assert ranked.status_code == 200


@pytest.mark.parametrize("text", ["a " * (MAX_WORDS + 1), "ab c" * MAX_WORDS, "\U0001f600" * TEXT_BYTES, "short", ""])
def test_a_cut_text_is_accepted(text):
    check_text(cut_text(text))
    assert text.startswith(cut_text(text))


def test_hostile_files_are_ended_and_others_are_answered_meanwhile(server):
    answers, slowest = [], 0.0
    threads = [threading.Thread(target=lambda: answers.append(send(server, HOSTILE, "text/html"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    with server.client() as client:
        while any(thread.is_alive() for thread in threads):
            started = time.monotonic()
            assert client.rank("a red apple", k=1)[0].label == "fruit"
            slowest = max(slowest, time.monotonic() - started)
            time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [422, 422]
    assert answers[0].json()["detail"] == f"the document takes more than {SECONDS:g} seconds to read"
    assert slowest < SECONDS / 2  # the event loop was never blocked for as long as a file is read


def test_too_many_files_at_a_time_are_told_to_come_back(server):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(send(server, HOSTILE, "text/html"))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sorted(answer.status_code for answer in answers)
    assert set(statuses) == {422, 429}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["detail"] == "8 files are being read; try again later"
    assert int(refused.headers["retry-after"]) > 0


def test_a_pdf_that_draws_forms_without_end_is_ended(server):
    pytest.importorskip("pypdfium2")
    answer = send(server, pdf(loop=True), "application/pdf")
    assert answer.status_code == 422
    assert "too complex" in answer.json()["detail"] or "takes more than" in answer.json()["detail"]


def test_no_process_is_left_behind(server):
    def children():
        threads = Path(f"/proc/{server.process.pid}/task").glob("*/children")  # of whichever thread started them
        found = [Path(f"/proc/{pid}/cmdline") for path in threads for pid in path.read_text().split()]
        return [path for path in found if path.exists() and b"documents.worker" in path.read_bytes()]

    thread = threading.Thread(target=send, args=(server, HOSTILE, "text/html"))
    thread.start()
    ends = time.monotonic() + 180
    while not children() and time.monotonic() < ends:
        time.sleep(0.01)
    assert children()
    thread.join()
    assert not children()


def test_the_client_sends_a_file_and_gets_its_text(server, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<p>a red apple")
    with server.client() as client:
        assert client.text_of(path) == "a red apple"
        assert client.rank(client.text_of(path), k=1)[0].label == "fruit"
        assert client.text_of(path, media_type="text/plain") == "<p>a red apple"
        with pytest.raises(ValueError, match=r"must have one of the suffixes \.txt, \.md,"):
            client.text_of(tmp_path / "page.xyz")
        (tmp_path / "page.docx").write_text("not a zip")
        with pytest.raises(ServerError, match="422: the file is not a Word document; download or save it again"):
            client.text_of(tmp_path / "page.docx")


def test_workers_extract_texts_too(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        assert send(server, b"<p>a red apple", "text/html").json() == {"text": "a red apple"}


def test_a_missing_package_is_one_sentence(tmp_path):
    (tmp_path / "pypdfium2.py").write_text("raise ImportError('not here')")
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, env={"PYTHONPATH": str(tmp_path)}) as server:
        answer = send(server, pdf("x"), "application/pdf")
    assert answer.status_code == 501
    assert json.loads(answer.text)["detail"] == f"PDF files need pypdfium2: {pip_install('documents')}"
