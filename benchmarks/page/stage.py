"""Start a server with a model of library titles, and Debian's Chromium on the server's page."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from abound import Tagger
from benchmarks.sets import data_folder, finna_rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROWS = 100_000
START_SECONDS = 60


def make_model(path: Path, rows: int = ROWS) -> list[tuple[str, list[str]]]:
    """Learn the first titles of yso-finna-en, with the names of the subjects; return the next thousand rows."""
    lines = (data_folder() / "yso-finna-en" / "labels.tsv").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t", 1) for line in lines)
    Tagger().fit(*zip(*islice(finna_rows(), rows), strict=True), label_names=names).save(path)
    return later_rows(rows)


def later_rows(rows: int = ROWS) -> list[tuple[str, list[str]]]:
    """Return the thousand rows after the first ones."""
    return list(islice(finna_rows(), rows, rows + 1000))


class Server:
    """`abound serve` in a separate process, on a free port."""

    def __init__(self, model: Path, *options: str) -> None:
        command = [sys.executable, "-m", "abound", "serve", str(model), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self._found = threading.Event()
        self.address = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._found.wait(START_SECONDS) or not self.address:
            self.stop()
            raise RuntimeError("the server did not start: " + " ".join(self.said))

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.strip())
            match = re.search(r"http://\S+", line)
            if match and not self.address:
                self.address = match[0]
                self._found.set()
        self._found.set()

    def stop(self) -> None:
        """Let the server finish its responses, and stop it."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        if self.process.stderr is not None:
            self.process.stderr.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def chromium_path() -> str | None:
    """Return the path of Chromium, or None."""
    found = os.environ.get("ABOUND_CHROMIUM")
    return found or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextlib.contextmanager
def chromium() -> Iterator["Browser"]:
    """Start a headless Chromium."""
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    if path is None:
        raise RuntimeError("Chromium is missing; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        # Without its sandbox, which does not start for root; it only loads our own pages.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()
