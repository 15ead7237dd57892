"""That the examples of the documents run as they stand, and that their pictures are there."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run_and_pictures_exist(page, tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, page.name, "exec"), {})  # noqa: S102  our own text
    for image in re.findall(r"\]\((images/[^)]+)\)", text):
        assert (DOCS / image).exists(), image
    mpl.pyplot.close("all")
