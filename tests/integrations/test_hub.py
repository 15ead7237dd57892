"""push and pull with huggingface_hub, unmodified, against a server that speaks the hub's HTTP API."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

import abound
from abound import Tagger
from abound.server import Home
from abound.store.directory import MANIFEST
from tests.integrations.hub_server import TOKEN, Hub, Stored

huggingface_hub = pytest.importorskip("huggingface_hub")
TEXTS = ["a red apple from the orchard", "a fast car on the long road"] * 30
LABELS = [["fruit"], ["vehicle"]] * 30
REPO = "library/subjects"


@pytest.fixture
def hub():
    with Hub() as hub:
        yield hub


@pytest.fixture
def run(hub, tmp_path):
    """Run a command in a process, with the address and the token of the stand-in."""
    (tmp_path / "home").mkdir()
    settings = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path / "home")}
    settings |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "0"}

    def run(*arguments, **more):
        command = [sys.executable, "-m", "abound", *map(str, arguments)]
        environment = {**os.environ, **settings, **more}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    return run


@pytest.fixture
def model(tmp_path):
    Tagger(language="en").fit(TEXTS, LABELS).save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_is_pushed_with_a_card_and_pulled(run, hub, model, tmp_path):
    code, pushed, said = run("push", model, REPO, "--license", "cc0-1.0", "--dataset", "library/titles")
    assert code == 0, said
    files = hub.repositories[REPO].files()
    assert set(files) == {path.name for path in model.iterdir()} | {"README.md", ".gitattributes"}
    assert pushed["files"] == len(files) - 1
    assert pushed["bytes"] == sum(len(content) for name, content in files.items() if name != ".gitattributes")
    card = huggingface_hub.ModelCard(files["README.md"].decode())
    assert (card.data.license, card.data.language, card.data.library_name) == ("cc0-1.0", "en", "abound")
    assert card.data.datasets == ["library/titles"]
    code, pulled, said = run("pull", REPO, tmp_path / "pulled")
    assert code == 0, said
    assert pulled["commit"] == pushed["commit"] == hub.repositories[REPO].branches["main"]
    assert abound.load(tmp_path / "pulled").state_hash() == abound.load(model).state_hash()
    assert {path.name for path in (tmp_path / "pulled").iterdir()} == {path.name for path in model.iterdir()}
    assert not list(tmp_path.glob(".pulling-*"))


def test_texts_of_the_training_data_stay_here_unless_they_are_wanted(run, hub, model):
    examples = Tagger.load(model).examples
    assert examples
    code, pushed, said = run("push", model, REPO)
    assert (code, pushed["examples"], pushed["left_out"]) == (0, 0, len(examples))
    assert "example texts of the training data are left out; --with-examples uploads them" in said
    everything = b"".join(hub.repositories[REPO].files().values())
    assert not any(text.encode() in everything for text in {*examples, *TEXTS})
    code, pushed, said = run("push", model, REPO, "--with-examples")
    assert (code, pushed["examples"], pushed["left_out"]) == (0, len(examples), 0)
    assert examples[0].encode() in hub.repositories[REPO].files()[MANIFEST]
    assert Tagger.load(model).examples == examples  # the model itself has not changed


def test_the_newest_state_of_a_home_is_pushed_without_the_texts_of_corrections(run, hub, model, tmp_path):
    home = Home.create(tmp_path / "served", Tagger.load(model)).path
    private_text = "zebra quagga okapi and a giraffe"
    assert run("learn", home, "--text", private_text, "--label", "animal")[0] == 0
    code, _, said = run("push", home, REPO)
    assert code == 0, said
    assert "what was learned from 1 corrections is part of the model; their texts are not" in said
    files = hub.repositories[REPO].files()
    assert not [name for name in files if "sqlite" in name]
    assert private_text.encode() not in b"".join(files.values())
    assert run("pull", REPO, tmp_path / "pulled")[0] == 0
    assert abound.load(tmp_path / "pulled").rank("an okapi")[0].label == "animal"


def test_a_second_push_replaces_the_model_in_one_commit_and_the_first_stays_at_its_commit(run, hub, model, tmp_path):
    first = run("push", model, REPO)[1]["commit"]
    tagger = Tagger.load(model)
    before = tagger.state_hash()
    tagger.learn("a bicycle", ["vehicle"])
    tagger.save(model)
    second = run("push", model, REPO)[1]["commit"]
    repository = hub.repositories[REPO]
    assert list(repository.commits)[1:] == [first, second]
    assert set(repository.files()) == {path.name for path in model.iterdir()} | {"README.md", ".gitattributes"}
    assert run("pull", REPO, tmp_path / "pulled", "--revision", first)[0] == 0
    assert abound.load(tmp_path / "pulled").state_hash() == before
    code, _, said = run("pull", REPO, tmp_path / "pulled")
    assert (code, said.count("already contains a model; replace it with --force")) == (1, 1)
    assert run("pull", REPO, tmp_path / "pulled", "--force")[1]["commit"] == second
    assert abound.load(tmp_path / "pulled").state_hash() == tagger.state_hash()


def test_a_branch_is_made_and_main_is_left_alone(run, hub, model):
    code, pushed, said = run("push", model, REPO, "--revision", "next")
    assert code == 0, said
    assert pushed["url"].endswith(f"{REPO}/tree/next")
    assert MANIFEST in hub.repositories[REPO].files("next")
    assert MANIFEST not in hub.repositories[REPO].files("main")


def test_a_private_repository_needs_a_token_and_a_public_one_does_not_become_private(run, hub, model, tmp_path):
    assert run("push", model, REPO, "--private")[0] == 0
    assert hub.repositories[REPO].private
    code, _, said = run("pull", REPO, tmp_path / "pulled", HF_TOKEN="")
    assert (code, "does not exist, or the token may not use it; check the name and set HF_TOKEN" in said) == (1, True)
    assert not (tmp_path / "pulled").exists()
    assert run("push", model, "library/public")[0] == 0
    commits = len(hub.repositories["library/public"].commits)
    code, _, said = run("push", model, "library/public", "--private")
    assert (code, "library/public exists and is public; make it private on the hub" in said) == (1, True)
    assert len(hub.repositories["library/public"].commits) == commits


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (("push", "model", REPO), {"HF_TOKEN": ""}, "the hub answered 401 for library/subjects: Invalid credentials"),
        (
            ("push", "model", "library/other"),
            {},
            "library/other has other files, such as model.bin; name a new repository",
        ),
        (("push", "model", REPO, "--license", "no such licence"), {}, "Invalid metadata in README.md"),
        (("push", "model", "a b"), {}, "Repo id must use alphanumeric chars"),
        (
            ("push", "model", REPO),
            {"HF_ENDPOINT": "http://127.0.0.1:9"},
            "the hub at http://127.0.0.1:9 does not answer",
        ),
        (("pull", "library/none", "new"), {}, "library/none does not exist, or the token may not use it"),
        (("pull", "library/other", "new"), {}, "library/other is not a model of abound: it has no manifest.json"),
        (("pull", "library/other", "new", "--revision", "none"), {}, "library/other has no such revision"),
    ],
)
def test_errors_are_one_sentence_and_change_nothing(run, hub, model, tmp_path, arguments, more, message):
    hub.create({"organization": "library", "name": "other"})
    hub.repositories["library/other"].commit({"model.bin": Stored(b"x", False)}, "main")
    here = {"model": model, "new": tmp_path / "new"}
    code, printed, said = run(*(here.get(argument, argument) for argument in arguments), **more)
    assert (code, printed) == (1, None)
    [line] = [line for line in said.splitlines() if line.startswith("abound: ")]
    assert message in line
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".pulling-*"))
    assert hub.repositories["library/other"].files() == {"model.bin": b"x"}


def test_a_damaged_download_leaves_the_old_model(run, hub, model, tmp_path):
    assert run("push", model, REPO)[0] == 0
    Tagger(language="en").fit(TEXTS[:2], LABELS[:2]).save(tmp_path / "pulled")
    before = {path.name: path.read_bytes() for path in (tmp_path / "pulled").iterdir()}
    hub.flip = b"\x93NUMPY"
    code, _, said = run("pull", REPO, tmp_path / "pulled", "--force")
    assert (code, "does not match its checksum" in said) == (1, True), said
    assert {path.name: path.read_bytes() for path in (tmp_path / "pulled").iterdir()} == before
    hub.flip = b"{"
    code, _, said = run("pull", REPO, tmp_path / "new")
    assert (code, "abound: " in said) == (1, True)
    assert not (tmp_path / "new").exists()
    hub.flip = b""
    missing = dict(hub.repositories[REPO].commits[hub.repositories[REPO].branches["main"]])
    gone = next(name for name in missing if name.endswith(".npy"))
    del missing[gone]
    hub.repositories[REPO].commit(missing, "main")
    code, _, said = run("pull", REPO, tmp_path / "new")
    assert (code, f"{REPO} has no file {gone}, which its manifest.json lists" in said) == (1, True)


def test_other_files_are_never_downloaded(run, hub, model, tmp_path):
    assert run("push", model, REPO)[0] == 0
    repository = hub.repositories[REPO]
    files = dict(repository.commits[repository.branches["main"]])
    strange = ["run.py", "model.pkl", "extra-0123456789abcdef.npy", "folder/manifest.json", "setup.cfg"]
    repository.commit({**files, **{name: Stored(b"import os", False) for name in strange}}, "main")
    hub.requests.clear()
    code, _, said = run("pull", REPO, tmp_path / "pulled")
    assert code == 0, said
    assert {path.name for path in (tmp_path / "pulled").iterdir()} == {path.name for path in model.iterdir()}
    asked = [request for request in hub.requests if "/resolve/" in request]
    assert asked
    assert not [request for request in asked if any(request.endswith(f"/{name}") for name in strange)]
    large = hashlib.sha256(b"import os").hexdigest()
    assert not [request for request in hub.requests if large in request]


def test_a_commit_during_a_push_is_not_lost(run, hub, model):
    assert run("push", model, REPO)[0] == 0
    repository, validate = hub.repositories[REPO], hub.validate

    def intrude(**given):
        repository.commit({**repository.commits[repository.branches["main"]], "NOTICE": Stored(b"x", False)}, "main")
        return validate(**given)

    hub.validate = intrude
    code, _, said = run("push", model, REPO, "--license", "cc0-1.0")
    assert (code, "the hub answered 412" in said) == (1, True), said
    assert repository.files()["NOTICE"] == b"x"
    assert b"cc0-1.0" not in repository.files()["README.md"]
