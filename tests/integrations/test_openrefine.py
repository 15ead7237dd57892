"""OpenRefine from Debian, headless: a column of 500 texts is reconciled through its own HTTP commands, and extended."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from abound import Tagger
from benchmarks import sets
from benchmarks.page import stage
from tests.integrations.pictures import take
from tests.server.http.running import Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal"),
    pytest.mark.skipif(shutil.which("openrefine") is None, reason="needs OpenRefine: apt-get install openrefine"),
]
TEXTS = 500
ENGINE = json.dumps({"facets": [], "mode": "row-based"})


class OpenRefine:
    """OpenRefine on a free port, and a project in it."""

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._log = (folder / "openrefine.log").open("w")
        command = ["openrefine", "-i", "127.0.0.1", "-p", str(port), "-d", str(folder), "-x", "refine.headless=true"]
        self._process = subprocess.Popen(
            [*command, "-m", "600M"], stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True
        )
        self.address = f"http://127.0.0.1:{port}"
        self._client = httpx.Client(base_url=f"{self.address}/command/core/", timeout=60)
        self.project = ""
        ends = time.monotonic() + 120
        while True:
            try:
                self._token()
                return
            except (httpx.HTTPError, ValueError):
                assert time.monotonic() < ends
                time.sleep(0.5)

    def _token(self):
        return self._client.get("get-csrf-token").json()["token"]

    def get(self, command, **parameters):
        return self._client.get(command, params={"project": self.project, **parameters}).json()

    def post(self, command, **fields):
        parameters = {"project": self.project, "csrf_token": self._token()}
        answer = self._client.post(command, params=parameters, data={"engine": ENGINE, **fields}).json()
        while self.get("get-processes")["processes"]:
            time.sleep(0.2)
        return answer["code"]

    def open(self, texts):
        """Make a project of one column; return the column's name."""
        made = self._client.post(
            "create-project-from-upload",
            params={"csrf_token": self._token()},
            data={"project-name": "texts", "format": "text/line-based", "options": json.dumps({"linesPerRow": 1})},
            files={"project-file": ("texts.txt", "\n".join(texts))},
        )
        self.project = made.headers["location"].partition("project=")[2]
        [column] = self.get("get-models")["columnModel"]["columns"]
        return column["name"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(60)
        self._client.close()
        self._log.close()


def test_openrefine_reconciles_a_column_of_texts_and_extends_it(data_folder, tmp_path):
    rows = [row for row, _ in zip(sets.finna_rows(), range(5_000), strict=False)]
    texts = [" ".join(text.split()) for text, _ in rows[:TEXTS]]
    names = {label: [f"subject {label}", f"other {label}"] for _, labels in rows for label in labels}
    tagger = Tagger().fit([text for text, _ in rows], [labels for _, labels in rows], label_names=names)
    tagger.save(tmp_path / "subjects")
    wanted = [[str(entry.label) for entry in found] for found in tagger.rank_many(texts, 5)]
    with Running(tmp_path / "subjects") as server, OpenRefine(tmp_path) as refine:
        service = f"{server.url}/reconcile/subjects"
        manifest = httpx.get(service).json()
        spaces = {key: manifest[key] for key in ("identifierSpace", "schemaSpace")}
        column = refine.open(texts)
        config = {"mode": "standard-service", "service": service, "autoMatch": False, "columnDetails": [], "limit": 5}
        config |= {**spaces, "type": manifest["defaultTypes"][0]}
        assert refine.post("reconcile", columnName=column, config=json.dumps(config)) == "pending"
        found = refine.get("get-rows", start=0, limit=TEXTS)
        pool = found["pool"]["recons"]
        assert found["total"] == TEXTS
        got = [[one["id"] for one in pool[row["cells"][0]["r"]]["c"]] for row in found["rows"]]
        assert got == wanted
        assert refine.post("recon-match-best-candidates", columnName=column) == "ok"
        extension = json.dumps({"properties": [{"id": "names"}, {"id": "texts"}]})
        fields = {"baseColumnName": column, "endpoint": service, "extension": extension, "columnInsertIndex": "1"}
        assert refine.post("extend-data", **fields, **spaces) == "pending"
        rows = refine.get("get-rows", start=0, limit=TEXTS)["rows"]
        assert rows[0]["cells"][1]["v"] == f"subject {wanted[0][0]}"
        assert rows[0]["cells"][2]["v"] >= 1


@pytest.mark.skipif(stage.chromium_path() is None, reason="needs Chromium: apt-get install chromium")
def test_a_person_adds_the_service_on_openrefines_own_pages(data_folder, tmp_path):
    rows = stage.make_model(tmp_path / "subjects", 20_000)
    with (
        OpenRefine(tmp_path) as refine,
        stage.Server(tmp_path / "subjects", "--allow-origin", refine.address) as server,
        stage.chromium() as browser,
    ):
        refine.open([" ".join(text.split()) for text, _ in rows[:20]])
        page = browser.new_context(viewport={"width": 1120, "height": 620}).new_page()
        page.goto(f"{refine.address}/project?project={refine.project}")
        page.locator(".column-header-menu").nth(1).click()
        page.get_by_text("Reconcile", exact=True).hover()
        page.get_by_text("Start reconciling").click()
        page.get_by_role("button", name="Add standard service").click()
        page.keyboard.type(f"{server.address}/reconcile/subjects")
        page.get_by_role("button", name="Add service").last.click()
        page.locator(".recon-dialog-service-selector").filter(has_text="subjects (abound)").wait_for()
        page.mouse.move(900, 600)  # the list of services covers the button until the mouse leaves it
        page.get_by_role("button", name="Start reconciling").click()
        page.locator(".data-table-recon-candidate").first.wait_for()
        for waiting in ("Refreshing facets", "Loading"):
            page.get_by_text(waiting).first.wait_for(state="hidden")
        first = page.locator(".data-table-recon-topic").first
        name = first.text_content()
        page.mouse.move(900, 100)  # away from the cell below the button, whose preview would stay
        first.hover()
        page.frame_locator("iframe").get_by_role("heading", name=name).wait_for()
        take(page, "openrefine")
        page.mouse.move(900, 100)
        page.get_by_text("Search for match").first.click()
        page.locator(".fbs-item-name, .fbs-item").filter(has_text=name).first.wait_for()
