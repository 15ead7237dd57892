"""A plugin of pytest that writes how long each test took."""

import json
import os
from pathlib import Path

import pytest

SECONDS: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SECONDS[report.nodeid] = round(SECONDS.get(report.nodeid, 0.0) + report.duration, 3)


def pytest_sessionfinish() -> None:
    Path(os.environ["ABOUND_TEST_SECONDS"]).write_text(json.dumps(SECONDS))
