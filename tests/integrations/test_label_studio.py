"""Label Studio itself: it shows predictions, and what is annotated in it is taught once, replaced and taken back."""

import shutil
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from abound import Tagger
from abound.server.deliveries import Deliveries
from abound.server.home import Home
from abound.server.http.keys import KeyFile
from tests.integrations.label_studio import LabelStudio, choices
from tests.server.http.label_studio_bodies import region
from tests.server.http.running import Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal"),
]
LABELS = ("fruit", "vehicle", "plant")
TEXTS = ("a red apple", "a fast car", "pear pie")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with LabelStudio(tmp_path_factory.mktemp("label-studio")) as studio:
        yield studio


@pytest.fixture
def recorder():
    """A webhook that keeps what Label Studio sends."""

    bodies = []

    class Keep(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keep)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", bodies
    server.shutdown()
    server.server_close()


class Served:
    """A model behind keys that learns from a project of Label Studio."""

    def __init__(self, folder, several):
        folder.mkdir()
        Tagger().fit(TEXTS[:2], [[label] for label in LABELS[:2]]).save(folder / "subjects")
        self.home = Home.create(folder / "subjects.served", Tagger.load(folder / "subjects"))
        keys = KeyFile(self.home.path)
        self.reading, self.learning = keys.add("shown in Label Studio", "read"), keys.add("its webhook", "learn")
        self.header = {"Authorization": f"Bearer {self.learning}"}
        self._argument = f"--library={folder}" if several else folder / "subjects"
        self.server = Running(self._argument)

    @property
    def address(self):
        return f"{self.server.url}/label-studio/subjects"

    def restart(self):
        self.server.kill()
        self.server = Running(self._argument, port=self.server.port)

    def settle(self):
        """Return the labels of the corrections that count, and the number of all records."""
        ends = time.monotonic() + 60
        while Deliveries(self.home.path).names():
            assert time.monotonic() < ends
            time.sleep(0.05)
        path = f"{self.server.url}/v1/models/subjects/records" if "--library" in str(self._argument) else None
        records = httpx.get(path or f"{self.server.url}/v1/records", headers=self.header, timeout=60).json()["records"]
        live = [one for one in records if one["kind"] == "learn" and one["status"] == "live"]
        return sorted((*one["accepted"], *one["added"]) for one in live), len(records)


@pytest.mark.parametrize("several", [False, True])
def test_label_studio_shows_predictions_and_teaches(tmp_path, studio, recorder, several):
    served, (recording, bodies) = Served(tmp_path / "models", several), recorder
    try:
        login = {"auth_method": "BASIC_AUTH", "basic_auth_user": "abound", "basic_auth_pass": served.reading}
        project, tasks = studio.make(choices(LABELS), TEXTS, {"url": served.address, **login})
        [hook] = studio.ask("GET", f"webhooks/?project={project}")
        assert hook["url"] == f"{served.address}/webhook"  # which Label Studio has added
        studio.ask("PATCH", f"webhooks/{hook['id']}/", {"headers": served.header})
        studio.ask("POST", "webhooks/", {"project": project, "url": recording})

        shown = [studio.predictions(task) for task in tasks]
        assert shown == [[[{"choices": ["fruit"]}]], [[{"choices": ["vehicle"]}]], [[]]]
        if shutil.which("chromium"):
            assert [text[:5] for text in studio.see(project, tasks[0], tmp_path / "screen.png")] == ["fruit"]

        path = f"tasks/{tasks[2]}/annotations/"
        studio.ask("POST", path, {"result": [region(["vehicle"])], "was_cancelled": True})
        assert served.settle() == ([], 0)
        number = studio.ask("POST", path, {"result": [region(["fruit"])]})["id"]
        assert served.settle() == ([("fruit",)], 1)
        again(served, bodies)
        assert served.settle() == ([("fruit",)], 1)
        served.restart()
        again(served, bodies)
        assert served.settle() == ([("fruit",)], 1)
        following = studio.ask("GET", f"projects/{project}/next")["predictions"]
        assert [one["model_version"] for one in following] == ["subjects 1"]  # predicted again, after record 1

        started = time.monotonic()
        studio.ask("PATCH", f"annotations/{number}/", {"result": [region(["plant"])]})
        assert time.monotonic() - started < 10
        assert served.settle() == ([("plant",)], 3)
        again(served, bodies)
        assert served.settle() == ([("plant",)], 3)

        studio.ask("DELETE", f"annotations/{number}/")
        assert served.settle() == ([], 4)
        served.restart()
        again(served, bodies)
        assert served.settle() == ([], 4)
    finally:
        served.server.kill()


def again(served, bodies):
    """Deliver once more what Label Studio has sent."""
    assert bodies
    for body in list(bodies):
        headers = {**served.header, "Content-Type": "application/json"}
        assert httpx.post(f"{served.address}/webhook", content=body, headers=headers, timeout=30).status_code == 200
