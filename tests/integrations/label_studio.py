"""Run Label Studio on this machine, use its HTTP API, and take a picture of its labelling screen.

    python -m tests.integrations.label_studio docs/images/label-studio.png

The picture shows a title of examples/finna with the prediction of a model that was fitted on these titles. It needs
playwright and chromium.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx

from abound import Tagger
from benchmarks.peers.environments import interpreter
from tests.server.http.running import Running

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "finna" / "titles.jsonl"
USER, PASSWORD, TOKEN = "tester@example.org", "not-a-secret", "0123456789abcdef0123456789abcdef01234567"
START_SECONDS = 600  # the first start makes the tables of the database
# It may use addresses of this machine, and contacts no other one.
SETTINGS = {
    "LABEL_STUDIO_ML_BLOCK_LOCAL_IP": "false",
    "LABEL_STUDIO_SSRF_PROTECTION_ENABLED": "false",
    "LABEL_STUDIO_SENTRY_DSN": "",
    "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
    "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
    "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
}


class LabelStudio:
    """Label Studio on a free port, with its database in a folder."""

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        program = Path(interpreter("label-studio", HERE)).with_name("label-studio")
        command = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
        command += ["--data-dir", folder, "--enable-legacy-api-token"]
        command += ["--username", USER, "--password", PASSWORD, "--user-token", TOKEN]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {**SETTINGS, "LABEL_STUDIO_BASE_DATA_DIR": str(folder)}
        self._log = (folder / "label-studio.log").open("w")
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder, env=environment
        )
        self.url = f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Token {TOKEN}"}
        self._client = httpx.Client(base_url=f"{self.url}/api/", timeout=120, headers=headers)
        ends = time.monotonic() + START_SECONDS
        while not self._answers():
            assert time.monotonic() < ends
            assert self._process.poll() is None, (folder / "label-studio.log").read_text()[-2000:]
            time.sleep(0.5)

    def _answers(self):
        try:
            return self._client.get("projects").status_code == 200
        except httpx.HTTPError:
            return False

    def ask(self, method, path, body=None):
        """Call its API, and return what it answers."""
        answer = self._client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def make(self, config, texts, backend):
        """Make a project with tasks, and connect an ML backend; return the numbers of the project and of its tasks."""
        project = self.ask("POST", "projects", {"title": "Titles", "label_config": config})["id"]
        self.ask("POST", f"projects/{project}/import", [{"text": text} for text in texts])
        self.ask("POST", "ml", {"project": project, "title": "abound", **backend})
        return project, sorted(task["id"] for task in self.ask("GET", f"tasks?project={project}")["tasks"])

    def predictions(self, task):
        """Return what the predictions for a task choose, the newest first."""
        found = sorted(self.ask("GET", f"tasks/{task}")["predictions"], key=lambda one: -one["id"])
        return [[region["value"] for region in one["result"]] for one in found]

    def see(self, project, task, path):
        """Open a task in Chromium and take a picture; return the options that are chosen there."""
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            page = browser.new_context(viewport={"width": 1000, "height": 520}).new_page()
            own = (self.url, "data:", "blob:")
            page.route("**/*", lambda one: one.continue_() if one.request.url.startswith(own) else one.abort())
            page.goto(f"{self.url}/user/login/")
            page.fill("input[name=email]", USER)
            page.fill("input[name=password]", PASSWORD)
            page.click("button[type=submit]")
            page.wait_for_url(f"{self.url}/**")
            # The list first, as a person does: 1 of 6 first visits that began with a task did not show its prediction,
            # although Label Studio had sent it to the page; 10 of 10 later visits did.
            page.goto(f"{self.url}/projects/{project}/data")
            page.get_by_text("Label All Tasks").first.wait_for(timeout=60_000)
            page.goto(f"{self.url}/projects/{project}/data?task={task}")
            page.get_by_role("button", name="Submit").wait_for(timeout=60_000)
            page.wait_for_timeout(2_000)
            chosen = page.locator("label:has(input:checked)").all_inner_texts()
            page.screenshot(path=path)
            browser.close()
        return [" ".join(text.split()) for text in chosen if text.strip()]  # a switch of the page has no text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(60)
        self._client.close()
        self._log.close()


def choices(labels):
    """Return a labelling config that offers labels."""
    options = "".join(f'<Choice value="{label}"/>' for label in labels)
    return (
        f'<View><Text name="title" value="$text"/><Choices name="subjects" toName="title" choice="multiple">{options}'
        "</Choices></View>"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    common = [label for label, _ in Counter(label for row in rows for label in row["labels"]).most_common(7)]
    labels = sorted({*common, "roses"})
    texts = ["Growing roses in cold climates", "The architecture of schools", "Women in the labour market"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Tagger().fit([row["text"] for row in rows], [row["labels"] for row in rows]).save(folder / "subjects")
        with Running(folder / "subjects") as server, LabelStudio(folder) as studio:
            backend = {"url": f"{server.url}/label-studio/subjects"}
            project, tasks = studio.make(choices(labels), texts, backend)
            print(*studio.predictions(tasks[0]))
            print(*studio.see(project, tasks[0], arguments.picture))


if __name__ == "__main__":
    main()
