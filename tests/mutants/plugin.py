"""A plugin of pytest that writes how long each test took, and which tests failed.

Random examples are the same in every run and have no time limit, so that only a mutant makes a test fail.
"""

import json
import os
from pathlib import Path

import hypothesis
import pytest

SECONDS: dict[str, float] = {}
FAILED: list[str] = []

hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SECONDS[report.nodeid] = round(SECONDS.get(report.nodeid, 0.0) + report.duration, 3)
    if report.failed:
        FAILED.append(report.nodeid)


def pytest_sessionfinish() -> None:
    path = os.environ.get("ABOUND_TEST_TIMES")
    if path is not None:
        Path(path).write_text(json.dumps({"seconds": SECONDS, "failed": FAILED}))
