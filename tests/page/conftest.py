"""A server of 100,000 library titles, or of fewer made ones, for each file of tests."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.page import stage
from tests.page import accessible

MADE_ROWS = 20_000
SCREENS = {
    "light": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"},
    "double": {"viewport": {"width": 600, "height": 400}},  # as at 200% zoom
    "fourfold": {"viewport": {"width": 300, "height": 200}},
    "phone": {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True},
}


@dataclass
class Stage:
    address: str
    rows: list


@dataclass
class Visit:
    """A page, and the problems that occurred on it."""

    page: object
    address: str
    problems: list = field(default_factory=list)

    def open(self, part="tag"):
        self.page.goto(f"{self.address}/#/{part}")
        self.page.wait_for_function("() => document.getElementById('foot').textContent.includes('revision')")

    def type(self, text):
        self.page.locator("#text").fill(text)
        self.ranked(text)

    def ranked(self, text):
        """Wait until the page shows the labels of a text, which a separate request returns."""
        found = self.rank(text)
        wanted = [entry.get("name", entry["label"]) for entry in found]
        self.page.wait_for_function(
            "(wanted) => JSON.stringify([...document.querySelectorAll('.pick')].map((x) => x.textContent)) === wanted",
            arg=json.dumps(wanted, separators=(",", ":"), ensure_ascii=False),
        )
        return found

    def rank(self, text):
        return self.post("v1/rank", {"text": text, "explain": True})["labels"]

    def post(self, path, body, method="post"):
        answer = getattr(self.page.context.request, method)(f"{self.address}/{path}", data=body)
        assert answer.ok, answer.text()
        return answer.json()

    def get(self, path):
        answer = self.page.context.request.get(f"{self.address}/{path}")
        assert answer.ok, answer.text()
        return answer.json()

    @property
    def sequence(self):
        return self.get("v1/model")["sequence"]

    @property
    def names(self):
        return self.page.locator(".pick").all_text_contents()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def settled(self, sequence):
        """Wait until all decisions are learned and none is pending."""
        self.page.wait_for_selector("body:not(.has-pending)", timeout=90_000)
        assert self.sequence >= sequence


@pytest.fixture(scope="session")
def model(browser, data_folder, made_counts, tmp_path_factory):
    kept = os.environ.get("ABOUND_PAGE_MODEL")  # where earlier tests have kept the model of the same rows
    path = Path(kept) if kept else tmp_path_factory.mktemp("page") / "finna"
    n_rows = MADE_ROWS if made_counts else stage.ROWS
    return path, stage.later_rows(n_rows) if path.exists() else stage.make_model(path, n_rows)


@pytest.fixture(scope="module")
def stage_of_titles(model, tmp_path_factory):
    """A server that only the tests of one file have taught."""
    path, rows = model
    with stage.Server(path, "--state", str(tmp_path_factory.mktemp("served") / "home")) as server:
        yield Stage(server.address, rows)


@pytest.fixture(scope="session")
def axe():
    """axe-core's script."""
    return accessible.script()


@pytest.fixture
def open_visit(browser, stage_of_titles):
    visits = []

    def open_visit(screen="light", **options):
        context = browser.new_context(**SCREENS[screen], **options)
        context.set_default_timeout(60_000)
        visit = Visit(context.new_page(), stage_of_titles.address)
        host = urlsplit(stage_of_titles.address).netloc

        def asked(request):
            if urlsplit(request.url).scheme in ("http", "https", "ws") and urlsplit(request.url).netloc != host:
                visit.problems.append(f"asked another host: {request.url}")

        visit.page.on("console", lambda m: m.type in ("error", "warning") and visit.problems.append(m.text))
        visit.page.on("pageerror", lambda error: visit.problems.append(str(error)))
        visit.page.on("dialog", lambda dialog: visit.problems.append(f"a dialog: {dialog.message}"))
        visit.page.on("request", asked)
        visits.append(visit)
        return visit

    yield open_visit
    problems = [problem for visit in visits for problem in visit.problems]
    for visit in visits:
        visit.page.context.close()
    assert problems == []


@pytest.fixture
def visit(open_visit):
    found = open_visit()
    found.open()
    return found
