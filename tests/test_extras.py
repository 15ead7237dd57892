"""What messages and pages say about extras is true in a checkout and from a package index."""

import re
import tomllib
from pathlib import Path

import pytest

from abound.errors import missing_extra, pip_install

ROOT = Path(__file__).parents[1]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "src" / "abound" / "model_card.py"]
SOURCES = [path for path in (ROOT / "src" / "abound").rglob("*.py") if path.name not in ("errors.py", "model_card.py")]


def test_a_missing_package_is_told_with_both_commands():
    error = missing_extra("plots need matplotlib", "plot", "matplotlib")
    assert isinstance(error, ImportError)
    assert error.name == "matplotlib"
    assert str(error) == ("plots need matplotlib: pip install 'abound[plot]', or in a checkout pip install '.[plot]'")


def test_messages_say_both_commands():
    """A message that has one of the commands only would be wrong for somebody."""
    assert [path for path in SOURCES if re.search(r"pip install '(abound|\.)\[", path.read_text())] == []


def test_messages_name_extras_that_exist():
    text = "\n".join(path.read_text() for path in SOURCES)
    named = re.findall(r"""\bpip_install\(['"]([\w,]+)['"]\)""", text)
    named += re.findall(r"""\bmissing_extra\(\s*"[^"]*",\s*"(\w+)\"""", text)
    named += re.findall(r"""\brequire\([^,()]*,\s*"(\w+)\"""", text)
    assert len(named) >= 10
    assert set(named) <= EXTRAS


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_that_names_the_index_names_the_checkout_as_well(path: Path):
    text = path.read_text()
    if "pip install 'abound[" in text:
        assert "in a checkout" in text.lower()
    for command in re.findall(r"pip install '(?:abound|\.)\[([\w,]+)\]'", text):
        assert set(command.split(",")) <= EXTRAS
    for extras in re.findall(r"\[extras?\]\([^)]*#install\) `(\w+)`(?: and `(\w+)`)?", text):
        assert {extra for extra in extras if extra} <= EXTRAS


def test_the_command_is_quoted_for_a_shell():
    assert pip_install("cli,server").count("'") == 4
