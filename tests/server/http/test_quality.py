"""`abound serve --quality`: what was measured of each label is shown with it, in one process and in several."""

import json
import os
import subprocess
import sys
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from abound import Tagger
from abound.client import Client
from abound.server import Replica
from abound.tagger.label_quality import LabelQuality, write_quality
from tests.server.http.running import Running

pytestmark = pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")
ROWS = [
    LabelQuality("car", None, 30, 20, 0.75, 0.5, 0.6, 0.7, "fox", 4),
    LabelQuality("fox", None, 8, 0, None, 0.0, 0.0, 0.1, "car", 2),
    LabelQuality("7", None, 3, 3, 1.0, 1.0, 1.0, 1.0, None, 0),
    LabelQuality("never learned", None, 2, 0, None, 0.0, 0.0, 0.0, None, 0),
]
NAMES = {"fox": "Foxes"}
TEXTS = ["a fast car", "a red fox", "a number", "a red deer"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quality")
    Tagger().fit([*TEXTS, TEXTS[3]], [["car"], ["fox"], [7], ["deer"], ["deer"]], label_names=NAMES).save(
        folder / "model"
    )
    write_quality(ROWS, folder / "q.csv")
    return folder


@pytest.fixture(scope="module", params=["1", "2"])
def server(request, folder, tmp_path_factory):
    state = tmp_path_factory.mktemp("state") / "home"
    arguments = ("--state", state, "--quality", folder / "q.csv", "--workers", request.param)
    with Running(folder / "model", *arguments) as server:
        yield server


def labels(server, **query):
    with urlopen(f"{server.url}/v1/labels?{urlencode(query)}") as answer:  # noqa: S310  our own server
        return json.load(answer)


def test_labels_have_the_quality_of_the_table(server):
    found = labels(server)
    assert found["rated"] is True
    quality = {entry["label"]: entry.get("quality") for entry in found["labels"]}
    assert quality["car"] == {
        "support": 30,
        "assigned": 20,
        "f1": 0.6,
        "precision": 0.75,
        "recall": 0.5,
        "average_precision": 0.7,
        "confused_with": "fox",
        "confused_name": "Foxes",
        "confused_rows": 4,
    }
    assert "precision" not in quality["fox"]
    assert quality[7]["f1"] == 1.0
    assert quality["deer"] is None
    assert found["labels"][0]["label"] == "deer"  # the most frequent
    assert "1 of 4 labels of" in "".join(server.said)
    assert "not known to the model" in "".join(server.said)


def test_the_worst_labels_come_first_on_request(server):
    found = labels(server, worst_first="true")
    assert [entry["label"] for entry in found["labels"]][:4] == ["fox", "car", 7, "deer"]
    assert [entry["label"] for entry in labels(server, worst_first="true", limit=1)["labels"]] == ["fox"]
    assert [entry["label"] for entry in labels(server, worst_first="true", prefix="c")["labels"]] == ["car"]
    assert labels(server, sort="worst") == found
    assert [entry["label"] for entry in labels(server, sort="best")["labels"]][:4] == [7, "car", "fox", "deer"]


def test_a_renamed_label_keeps_its_quality_and_a_new_one_has_none(server):
    with Client(server.url) as client:
        client.learn("a blue whale", added=["whale"])
        client.rename_label("fox", "red fox")
        client.rename_label("red fox", "vulpes")
        quality = {match.label: match.quality for match in client.labels(worst_first=True)}
        assert list(quality) == ["vulpes", "car", 7, "deer", "whale"]
        assert quality["vulpes"]["support"] == 8
        assert quality["whale"] is None
        client.rename_label("vulpes", "fox")
        client.rename_label("deer", "never learned")  # the name of another row of the table
        assert client.labels("never")[0].quality["support"] == 2
        client.rename_label("never learned", "deer")


def test_without_a_table_there_is_no_order_by_quality(folder, tmp_path):
    with Running(folder / "model", "--state", tmp_path / "home") as server:
        found = labels(server)
        assert "rated" not in found
        assert all("quality" not in entry for entry in found["labels"])
        with pytest.raises(HTTPError) as caught:
            labels(server, worst_first="true")
        assert caught.value.code == 422
        assert "start the server with --quality FILE" in json.load(caught.value)["detail"]


def test_a_bad_table_is_refused_in_one_sentence(folder, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("label,precision\nfox,0.3\n")
    for file, words in ((bad, "it has no column 'name'"), (tmp_path / "none.csv", "No such file or directory")):
        command = [sys.executable, "-m", "abound", "serve", folder / "model", "--port", "0", "--quality", file]
        refused = subprocess.run([*command, "--state", tmp_path / "home"], capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1
        said = refused.stderr.strip().splitlines()
        assert len(said) == 1, said
        assert words in said[0]
        assert str(file) in said[0]


def test_the_quality_stays_when_the_state_is_loaded_again(folder):
    replica = Replica(Tagger.load(folder / "model"))
    assert replica.rate_labels(ROWS) == 3
    replica.release_state()
    replica.replace_state(Replica(Tagger.load(folder / "model")))
    assert [match.label for match in replica.search.find("", 2, order=replica.search.by_quality())[1]] == ["fox", "car"]
    assert replica.search.find("fox", 1)[1][0].quality == ROWS[1]
