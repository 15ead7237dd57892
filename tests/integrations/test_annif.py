"""Annif's client, unmodified, against a server with one or several models; and Annif itself, by its http back end."""

import json
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import httpx
import pytest

from abound import Tagger
from abound.data import read_label_names
from benchmarks import sets
from benchmarks.page import stage
from benchmarks.peers.environments import interpreter
from benchmarks.server import free_port
from tests.integrations.pictures import run_example, take
from tests.server.http.running import Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal"),
]
SCRIPT = """
import json, sys
from annif_client import AnnifClient

client, name = AnnifClient(sys.argv[1] + "/v1/"), sys.argv[2]
found = {"info": client.api_info, "projects": client.projects, "project": client.get_project(name)}
found["suggested"] = client.suggest(name, "a red apple", limit=1)
found["threshold"] = client.suggest(name, "a red apple", threshold=1.0)
documents = [{"document_id": "first", "text": "a red apple"}, {"text": "a fast car"}]
found["batch"] = client.suggest_batch(name, documents, limit=1)
subjects = [{"uri": "http://example.org/pie", "label": "pie"}]
found["status"] = client.learn(name, [{"text": "apple pie", "subjects": subjects}]).status_code
found["learned"] = client.suggest(name, "apple pie", limit=1)
found["language"] = client.detect_language("The quick brown fox jumped over the lazy dog", ["en", "fi"])
try:
    client.get_project("unknown")
except ValueError as error:
    found["unknown"] = str(error)
print(json.dumps(found))
"""


@pytest.mark.parametrize("several", [False, True])
def test_annif_client_works_unchanged(tmp_path, several):
    library = tmp_path / "library"
    library.mkdir()
    names = {"http://example.org/fruit": ["fruit"], "http://example.org/vehicle": ["vehicle"]}
    tagger = Tagger(language="en").fit(["a red apple", "a fast car"], [[uri] for uri in names], label_names=names)
    tagger.save(library / "subjects")
    python = interpreter("annif-client", Path(__file__).parent)
    with Running(f"--library={library}" if several else library / "subjects") as server:
        command = [python, "-c", SCRIPT, server.url, "subjects"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["info"]["title"].startswith("Annif")
    assert [project["project_id"] for project in found["projects"]] == ["subjects"]
    assert found["project"]["is_trained"]
    assert found["project"]["vocab"]["size"] == 2
    assert found["project"]["language"] == "en"
    [first] = found["suggested"]
    assert (first["uri"], first["label"]) == ("http://example.org/fruit", "fruit")
    assert 0 < first["score"] <= 1
    assert found["threshold"] == []
    assert [one["document_id"] for one in found["batch"]] == ["first", None]
    assert [one["results"][0]["label"] for one in found["batch"]] == ["fruit", "vehicle"]
    assert found["status"] == 204
    assert found["learned"][0]["uri"] == "http://example.org/pie"
    assert max(found["language"]["results"], key=lambda one: one["score"])["language"] == "en"
    assert "unknown" in found["unknown"]


URI = "http://www.yso.fi/onto/yso/p"
PROJECT = """[subjects]
name=Subjects (abound)
language=en
vocab=yso
backend=http
endpoint={url}/v1/projects/subjects/suggest
limit=10
"""


def test_annif_itself_queries_a_model_and_shows_its_labels(data_folder, tmp_path):
    rows = [(text, [URI + label for label in labels]) for text, labels in islice(sets.finna_rows(), 20_001)]
    found = read_label_names(sets.data_folder() / "yso-finna-en" / "labels.tsv")
    names = {URI + label: name for label, name in found.items()}
    tagger = Tagger(language="en").fit(*zip(*rows[:-1], strict=True), label_names=names)
    tagger.save(tmp_path / "subjects")
    (tmp_path / "subjects.tsv").write_text("".join(f"<{label}>\t{found[0]}\n" for label, found in names.items()))
    annif = Path(interpreter("annif")).absolute().parent / "annif"
    text = rows[-1][0]
    wanted = [str(entry.label) for entry in tagger.rank(text)]
    with Running(tmp_path / "subjects") as server:
        (tmp_path / "projects.cfg").write_text(PROJECT.format(url=server.url))
        command = [annif, "load-vocab", "--language", "en", "yso", "subjects.tsv"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
        done = subprocess.run([annif, "suggest", "subjects"], cwd=tmp_path, input=text, capture_output=True, text=True)
        assert [line.split("\t")[0].strip("<>") for line in done.stdout.splitlines()] == wanted
        printed = run_example("Annif", interpreter("annif-client", Path(__file__).parent), server.url, "annif-client")
        assert len(printed.splitlines()) == 5
        assert "roses http://www.yso.fi/" in printed
        if stage.chromium_path() is not None:
            _see_the_page(annif, tmp_path, text, names[wanted[0]][0])


def _see_the_page(annif, folder, text, name):
    port = free_port()
    running = subprocess.Popen([annif, "run", "--port", str(port)], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"http://127.0.0.1:{port}/v1/projects")
        with stage.chromium() as browser:
            page = browser.new_context(viewport={"width": 1120, "height": 960}).new_page()
            page.goto(f"http://127.0.0.1:{port}/")
            page.locator("textarea").fill(text)
            page.get_by_role("button", name="Get suggestions").click()
            page.get_by_text(name, exact=True).wait_for()
            take(page, "annif")
    finally:
        running.terminate()
        running.wait(30)


def _wait_for(url):
    ends = time.monotonic() + 120
    while True:
        try:
            return httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            assert time.monotonic() < ends
            time.sleep(0.5)
