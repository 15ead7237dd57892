"""Shared fixtures: the data folder, one browser, and small streams with a known answer."""

import json
import os
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("no time limit", deadline=None)  # other processes may delay an example
hypothesis.settings.load_profile("no time limit")

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def real_folder() -> Path | None:
    """Return the folder of real data sets, or None if there is none."""
    named = os.environ.get("ABOUND_DATA")
    if named and not Path(named).is_dir():
        pytest.fail(f"ABOUND_DATA must be a folder of data sets, got {named}; without it, tests use made data")
    folder = Path(named) if named else BESIDE
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    """Return the folder of real data sets, or one of made data sets; benchmarks read the same."""
    found = real_folder()
    with pytest.MonkeyPatch.context() as patch:
        if found is None:
            from benchmarks import sets
            from tests import made_data

            home = tmp_path_factory.mktemp("made")
            found = home / "data"
            made_data.write(found)
            patch.setenv("ABOUND_CACHE", str(home / "cache"))  # the usual cache has matrices of real data
            patch.setattr(sets, "CACHE", home / "cache" / sets.CACHE.name)
        patch.setenv("ABOUND_DATA", str(found))
        yield found


@pytest.fixture(scope="session")
def made_counts(data_folder) -> dict[str, int]:
    """Return the number of records of each made file; nothing if the data are real."""
    from tests import made_data

    path = data_folder / made_data.COUNTS
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


@pytest.fixture(scope="session")
def browser():
    """Return the one Chromium of the session: playwright allows no second one in a thread."""
    from benchmarks.page import stage

    pytest.importorskip("playwright", reason="the browser tests need playwright")
    if stage.chromium_path() is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one in ABOUND_CHROMIUM")
    with stage.chromium() as found:
        yield found
