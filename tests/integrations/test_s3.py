"""S3's protocol: s3fs, unmodified, keeps model directories on a server of moto, for several machines."""

import json
import os
import subprocess
import time
from pathlib import Path

import httpx
import pytest

import abound
from abound import Tagger
from abound.store.directory import MANIFEST
from benchmarks.peers.environments import interpreter
from tests.server.http.spawner import free_port

pytestmark = pytest.mark.slow
WHERE, NAME = "s3://models/journal-1", "snapshots/00000000000000000012"
# moto checks that requests are signed, but not by whom.
CREDENTIAL = "Credential=someone/20260101/us-east-1/s3/aws4_request"
SIGNED = {"Authorization": f"AWS4-HMAC-SHA256 {CREDENTIAL}, SignedHeaders=host, Signature=0"}
# Calls a method of a place for each line of JSON, and prints what it returned or raised.
MACHINE = """
import json, sys
from abound.store.places import open_place
place = open_place(sys.argv[1])
for line in sys.stdin:
    method, *arguments = json.loads(line)
    try:
        answer = {"value": getattr(place, method)(*arguments)}
    except Exception as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="module")
def python() -> str:
    return interpreter("s3", Path(__file__).parent)


@pytest.fixture
def environment(tmp_path):
    """Return variables with which the interpreter finds this abound, and nothing else of this environment."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "abound").symlink_to(Path(abound.__file__).parent)
    (tmp_path / "path" / "abound.dist-info").mkdir()
    (tmp_path / "path" / "abound.dist-info" / "METADATA").write_text(f"Name: abound\nVersion: {abound.__version__}\n")
    others = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FSSPEC_"))}
    return {
        **others,
        "PYTHONPATH": str(tmp_path / "path"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


class Store:
    """A server of moto with one bucket."""

    def __init__(self, python, environment):
        self.url = f"http://127.0.0.1:{free_port()}"
        command = [Path(python).parent / "moto_server", "-H", "127.0.0.1", "-p", self.url.rpartition(":")[2]]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(list(map(str, command)), env=environment, stdout=quiet, stderr=quiet)
        for _ in range(150):
            try:
                httpx.put(f"{self.url}/models", timeout=5).raise_for_status()
                return
            except httpx.TransportError:
                time.sleep(0.2)
        raise AssertionError("moto's server does not answer")

    def read(self, file):
        return self._request("GET", file).content

    def change(self, file, content):
        self._request("PUT", file, content=content)

    def delete(self, file):
        self._request("DELETE", file)

    def _request(self, method, file, **body):
        url = f"{self.url}/models/journal-1/{file}"
        return httpx.request(method, url, headers=SIGNED, timeout=30, **body).raise_for_status()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def store(python, environment):
    one = Store(python, environment)
    yield one
    one.stop()


class Machine:
    """A process with a place."""

    def __init__(self, python, environment, store, where=WHERE):
        variables = {**environment, "AWS_ENDPOINT_URL": store.url}
        command, pipe = [python, "-c", MACHINE, where], subprocess.PIPE
        self.process = subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe, text=True)

    def ask(self, *call):
        self.process.stdin.write(json.dumps([str(one) for one in call]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __call__(self, *call):
        answer = self.ask(*call)
        assert "error" not in answer, answer
        return answer["value"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def machines(python, environment, store):
    with Machine(python, environment, store) as one, Machine(python, environment, store) as two:
        yield one, two


@pytest.fixture
def model(tmp_path):
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(tmp_path / "model")
    return tmp_path / "model"


def files_of(path):
    return {one.name: one.read_bytes() for one in path.iterdir()}


def test_machines_see_what_the_others_put_and_removed(machines, model, tmp_path):
    one, two = machines
    assert two("names", "snapshots") == []
    one("put", NAME, model)
    assert two("names", "snapshots") == [NAME]  # its listing was not cached
    assert two("manifest", NAME) == json.loads((model / MANIFEST).read_bytes())["content"]
    two("get", NAME, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(model)
    two("put", "snapshots/00000000000000000013", tmp_path / "copy")
    assert one("names", "snapshots") == [NAME, "snapshots/00000000000000000013"]
    one("remove", NAME)
    assert two("names", "snapshots") == ["snapshots/00000000000000000013"]
    assert two("incomplete", "snapshots") == []
    assert two.ask("get", NAME, tmp_path / "again")["error"] == "UnknownFormat"
    one("remove", NAME)


def test_an_incomplete_directory_is_completed(machines, store, model, tmp_path):
    one, two = machines
    one("put", NAME, model)
    file = sorted(files_of(model))[0]
    store.delete(f"{NAME}/{MANIFEST}")
    store.delete(f"{NAME}/{file}")
    assert (two("names", "snapshots"), two("incomplete", "snapshots")) == ([], [NAME])
    two("put", NAME, model)
    assert store.read(f"{NAME}/{file}") == files_of(model)[file]
    one("get", NAME, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(model)


def test_a_damaged_directory_is_refused(machines, store, model, tmp_path):
    one, two = machines
    one("put", NAME, model)
    file = sorted(set(files_of(model)) - {MANIFEST})[0]
    raw = files_of(model)[file]
    store.change(f"{NAME}/{file}", raw[:-1] + bytes([raw[-1] ^ 1]))
    answer = two.ask("get", NAME, tmp_path / "home" / "copy")
    assert (answer["error"], f"{file} does not match its checksum" in answer["message"]) == ("DamagedModel", True)
    store.delete(f"{NAME}/{file}")
    answer = two.ask("get", NAME, tmp_path / "home" / "copy")
    assert (answer["error"], f"has no {file}" in answer["message"]) == ("DamagedModel", True)
    assert list((tmp_path / "home").iterdir()) == []


def test_a_store_that_is_away_or_has_no_bucket_is_unavailable(python, environment, machines, store, model, tmp_path):
    one, two = machines
    one("put", NAME, model)
    with Machine(python, environment, store, "s3://other/folder") as lost:
        answer = lost.ask("put", NAME, model)
        assert answer["error"] == "PlaceUnavailable"
        assert answer["message"].startswith("s3://other/folder cannot be written: ")
    store.stop()
    for call in (["names", "snapshots"], ["get", NAME, tmp_path / "home" / "copy"], ["put", "snapshots/13", model]):
        answer = two.ask(*call)
        assert answer["error"] == "PlaceUnavailable", answer
        assert answer["message"].startswith(f"{WHERE} cannot be read: ")
