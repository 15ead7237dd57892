"""Many models in one process: routing, keys, a memory budget, and changes under traffic."""

import asyncio
import gc
import shutil
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from abound import Tagger
from abound.client import Client
from abound.server import Writer
from abound.server.http.keys import KeyFile, LoopbackAuthenticator
from abound.server.http.library import Library
from abound.server.http.serve import open_home
from abound.server.turns import Threads, Turns
from abound.store.journal import Origin
from abound.store.journal.records import Learn
from tests.server.http.running import Running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal")


def make_library(path, n):
    path.mkdir()
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(path / "m0")
    for number in range(1, n):
        shutil.copytree(path / "m0", path / f"m{number}")
    return path


def ranked(url, name, text="an apple", **options):
    return httpx.post(f"{url}/v1/models/{name}/rank", json={"text": text}, timeout=120, **options)


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "library", 3)


def serving(library, *arguments):
    return Running(f"--library={library}", *arguments)


def states(url):
    return {model["name"]: model["state"] for model in httpx.get(f"{url}/v1/models").json()["models"]}


def test_each_model_has_its_own_journal_paths_and_page(library):
    with serving(library) as server:
        assert states(server.url) == {"m0": "closed", "m1": "closed", "m2": "closed"}
        learned = httpx.post(
            f"{server.url}/v1/models/m1/learn", json={"text": "apple", "added": ["pie"]}, timeout=120
        ).json()
        assert learned["sequence"] == 1
        with Client(f"{server.url}/models/m1") as client:
            assert client.rank("apple")[0].label == "pie"
            assert client.model()["name"] == "m1"
        assert ranked(server.url, "m0").json()["labels"][0]["label"] == "fruit"
        assert ranked(server.url, "m0").json()["sequence"] == 0
        assert states(server.url) == {"m0": "open", "m1": "open", "m2": "closed"}
        page = httpx.get(f"{server.url}/models/m2", follow_redirects=True)
        assert page.url.path == "/models/m2/"
        assert "<!doctype html>" in page.text.lower()
        assert httpx.get(f"{server.url}/models/m2/static/main.js").status_code == 200
        assert 'href="models/m2/"' in httpx.get(server.url).text
        refused = httpx.post(f"{server.url}/v1/rank", json={"text": "apple"})
        assert refused.status_code == 404
        assert "/v1/models/NAME/rank" in refused.json()["detail"]
        assert ranked(server.url, "m9").status_code == 404
        assert server.stop() == 0


def test_a_key_of_one_model_reads_no_other(library):
    with serving(library) as server:
        ranked(server.url, "m0"), ranked(server.url, "m1")
        assert server.stop() == 0
    keys = {name: KeyFile(library / f"{name}.served").add("reader", "read") for name in ("m0", "m1")}
    with serving(library) as server:
        for name, key in keys.items():
            headers = {"Authorization": f"Bearer {key}"}
            answers = {other: ranked(server.url, other, headers=headers).status_code for other in keys}
            assert answers == {other: 200 if other == name else 401 for other in keys}
            listed = httpx.get(f"{server.url}/v1/models", headers=headers).json()["models"]
            assert {model["name"] for model in listed} == {name, "m2"}  # m2 has no keys
            assert httpx.get(f"{server.url}/v1/models/m0", headers=headers).status_code == answers["m0"]
            assert httpx.get(f"{server.url}/models/m0/v1/model", headers=headers).status_code == answers["m0"]
            assert httpx.delete(f"{server.url}/v1/models/m2", headers=headers).status_code == 403
            metrics = httpx.get(f"{server.url}/metrics", headers=headers).text
            assert f'model="{name}"' in metrics
            assert metrics.count('model="m0"') * metrics.count('model="m1"') == 0


def test_a_closed_model_is_not_opened_without_its_key(library):
    with serving(library) as server:
        ranked(server.url, "m0")
        assert server.stop() == 0
    key = KeyFile(library / "m0.served").add("reader", "read")
    with serving(library) as server:
        for path in ("v1/models/m0/rank", "models/m0/v1/rank", "v2/models/m0/infer", "v1/projects/m0/suggest"):
            assert httpx.post(f"{server.url}/{path}", json={"text": "an apple"}).status_code == 401
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{server.url}/v1/models/m0", headers=headers).json()["state"] == "closed"
        assert ranked(server.url, "m0", headers=headers).status_code == 200
        assert httpx.get(f"{server.url}/v1/models/m0", headers=headers).json()["state"] == "open"


def test_a_key_of_the_library_is_valid_for_all_models(library):
    key = KeyFile(library).add("operator", "admin")
    with serving(library) as server:
        headers = {"Authorization": f"Bearer {key}"}
        assert ranked(server.url, "m0").status_code == 401
        assert ranked(server.url, "m0", headers=headers).status_code == 200
        assert httpx.get(f"{server.url}/v1/models").json()["models"] == []
        assert httpx.delete(f"{server.url}/v1/models/m2").status_code == 401
        assert httpx.delete(f"{server.url}/v1/models/m2", headers=headers).status_code == 200
        assert ranked(server.url, "m2", headers=headers).status_code == 404


def test_the_least_used_model_is_closed_for_another(library):
    with serving(library, "--memory", "1M") as server:  # less than any process needs: one model at a time
        for number in range(6):
            name = f"m{number % 3}"
            learned = httpx.post(
                f"{server.url}/v1/models/{name}/learn", json={"text": "apple", "added": [name]}, timeout=120
            )
            assert learned.json()["sequence"] == number // 3 + 1
            assert states(server.url) == {other: "open" if other == name else "closed" for other in ("m0", "m1", "m2")}
        assert ranked(server.url, "m0").json()["labels"][0]["label"] == "m0"
        total = 'abound_requests_total{endpoint="POST /v1/learn",model="m1",status="200"} 2.0'
        assert total in httpx.get(f"{server.url}/metrics").text  # although it was closed in between


class Traffic:
    """Rank with two models, over and over."""

    def __init__(self, url, names):
        self.answers = []
        self._url, self._names = url, names
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        with httpx.Client(timeout=120) as client:
            while not self._ends.is_set():
                for name in self._names:
                    answer = client.post(f"{self._url}/v1/models/{name}/rank", json={"text": "apple"})
                    self.answers.append((name, answer.status_code))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def test_models_are_added_reloaded_and_removed_under_traffic(library, tmp_path):
    with serving(library) as server, Traffic(server.url, ["m0", "m1"]) as traffic:
        url = f"{server.url}/v1/models"
        assert httpx.put(f"{url}/new").status_code == 404
        Tagger().fit(["a green pear"], [["pear"]]).save(library / "new")
        assert httpx.put(f"{url}/new", timeout=120).status_code == 201
        assert ranked(server.url, "new", "pear").json()["labels"][0]["label"] == "pear"
        for _ in range(5):
            assert httpx.put(f"{url}/m1", timeout=120).status_code == 200
        assert httpx.delete(f"{url}/new", timeout=120).status_code == 200
        assert ranked(server.url, "new").status_code == 404
        time.sleep(0.2)
    assert {status for _, status in traffic.answers} == {200}  # m1's requests wait while it is read again
    assert {name for name, _ in traffic.answers} == {"m0", "m1"}


def test_a_model_that_cannot_be_opened_is_reported_and_leaves_the_others_alone(library):
    (library / "m1" / "manifest.json").write_text("{")
    with serving(library) as server:
        refused = ranked(server.url, "m1")
        assert refused.status_code == 503
        assert "m1" in refused.json()["detail"]
        assert ranked(server.url, "m0").status_code == 200


def test_no_thread_belongs_to_a_model(tmp_path):
    library = make_library(tmp_path / "library", 12)
    with serving(library) as server:
        counts = []
        for number in range(12):
            assert ranked(server.url, f"m{number}").status_code == 200
            counts.append(len(list(Path(f"/proc/{server.process.pid}/task").iterdir())))
        assert counts[-1] <= counts[2] + 2


def test_a_closed_model_leaves_nothing_behind(library):
    """Opened models are excluded from garbage collections, so that a cycle of references would stay for ever."""

    async def reload(n):
        for _ in range(n):
            await models.put("m0")
            async with models.using("m0", {}) as app:
                await app.service.learn(Learn("a plum", added=("fruit",)), None, Origin(None, "api"))

    async def count():
        await reload(3)
        before = gc.get_freeze_count()
        await reload(10)
        after = gc.get_freeze_count()
        await models.close()
        return after - before

    def open_writer(path, threads):
        return Writer(open_home(path), threads=threads)

    models = Library({"m0": str(library / "m0")}, open_writer, lambda _: LoopbackAuthenticator())
    try:
        assert asyncio.run(count()) < 290  # a writer alone has as many objects, and ten were opened
    finally:
        gc.unfreeze()


def test_turns_never_overlap_and_answer_every_call():
    running, overlaps, begun = [0], [], threading.Event()
    with Threads(writing=4) as threads:

        def run():
            running[0] += 1
            overlaps.append(running[0])
            begun.set()
            time.sleep(0.01)
            running[0] -= 1

        one = Turns(threads.writing, run)
        one.ask()
        begun.wait()
        for _ in range(200):
            one.ask()  # while a turn is running: another one follows
        one.close()
        n_turns = len(overlaps)
        one.ask()  # closed
        time.sleep(0.05)
        assert len(overlaps) == n_turns
    assert set(overlaps) == {1}
    assert 2 <= n_turns < 200
