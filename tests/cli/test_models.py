"""`abound models`, and the options of `abound serve` for several models."""

import os
import shutil

import pytest

from abound import Tagger
from tests.server.http.running import Running

pytestmark = pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")


@pytest.fixture
def library(tmp_path):
    folder = tmp_path / "library"
    folder.mkdir()
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(folder / "english")
    return folder


def names(result):
    return [line["name"] for line in result.lines]


def test_models_are_listed_added_reloaded_and_removed(run, library):
    with Running(f"--library={library}") as server:
        assert names(run("models", "list", server.url)) == ["english"]
        missing = run("models", "add", server.url, "french")
        assert missing.code == 1
        assert "no model 'french' in the library; copy it there first" in missing.err
        shutil.copytree(library / "english", library / "french")
        added = run("models", "add", server.url, "french")
        assert added.code == 0
        assert f"{server.url}/models/french/" in added.err
        assert run("learn", "--server", f"{server.url}/models/french", "--text", "pomme", "--label", "fruit").code == 0
        reloaded = run("models", "reload", server.url, "french")
        assert (reloaded.code, reloaded.err) == (0, "abound: french was opened again\n")
        [_, french] = run("models", "list", server.url, "--json").lines
        assert (french["name"], french["state"], french["sequence"]) == ("french", "open", 1)
        assert run("rank", "--server", f"{server.url}/models/french", "pomme").json["labels"][0]["label"] == "fruit"
        removed = run("models", "remove", server.url, "french")
        assert (removed.code, removed.err) == (0, "abound: french is no longer served; its files stay in the library\n")
        assert names(run("models", "list", server.url)) == ["english"]
        assert (library / "french").is_dir()
        assert run("models", "remove", server.url, "french").code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "--workers needs a server with one model"),
        (["--state", "state"], "--state needs a server with one model"),
        (["--memory", "much"], "a size must be a number with K, M, G or T"),
        (["--allow-origin", "localhost"], "--allow-origin must be an origin such as http://localhost:3333"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, library, options, message):
    refused = run("serve", f"--library={library}", *options)
    assert refused.code in (1, 2)
    assert message in refused.err


def test_models_that_cannot_be_served_are_named(run, library, tmp_path):
    assert "is not a directory of models" in run("serve", f"--library={tmp_path / 'nothing'}").err
    assert "--memory needs several models" in run("serve", library / "english", "--memory", "1G").err
    shutil.copytree(library / "english", tmp_path / "english")
    assert "have the same name; rename one" in run("serve", library / "english", tmp_path / "english").err
    shutil.copytree(library / "english", tmp_path / "two words")
    assert "cannot be the name of a model" in run("serve", library / "english", tmp_path / "two words").err
    missing = run("serve", library / "english", tmp_path / "nothing").err
    assert missing == f"abound: there is no model {tmp_path / 'nothing'}: no such file or directory\n"
    (tmp_path / "empty").mkdir()
    assert "is not a model: it has no manifest.json" in run("serve", library / "english", tmp_path / "empty").err
    assert "name a model, several models, or --library DIR" in run("serve").err
