"""Shared fixtures: the data folder, and small streams with a known answer."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data sets; skip tests that need it if there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ABOUND_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no data sets: neither ABOUND_DATA nor {beside} is a folder")
    return folder
