"""Test that every notebook runs, and that its output equals the stored one."""

from pathlib import Path

import nbformat
import pytest

from docs_build import notebooks


@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_is_kept_with(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    assert notebooks.printed(notebooks.run(path, notebooks.FOLDER)) == notebooks.printed(kept)
