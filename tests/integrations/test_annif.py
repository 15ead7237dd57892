"""Annif's own client, unmodified, against a server with one model and a server with several."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from abound import Tagger
from benchmarks.peers.environments import interpreter
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
