"""ARCHITECTURE.md names what is there: a section a folder, files that exist, functions that take the steps."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "abound"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
STEPS = re.findall(
    r"^\|[^|]+\| (`.+`.*) \|$", TEXT.partition("## The path of one document")[2].partition("\n## ")[0], re.M
)
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
PARTS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py")))


def exists(name: str) -> bool:
    """Tell whether `kernels/text.pyx: Vocabulary.scan` or `data.read` names something that is there."""
    file, colon, inside = name.partition(": ")
    if colon:
        source = (PACKAGE / file).read_text()
        return all(re.search(rf"(def|class)\b[^\n]*\b{part}\b", source) for part in inside.split("."))
    parts = f"abound.{name}".split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_the_path_of_a_document_has_steps() -> None:
    assert len(STEPS) >= 10


@pytest.mark.parametrize("step", STEPS)
def test_a_step_names_functions_that_exist(step: str) -> None:
    last = ""
    for name in re.findall(r"`([^`]+)`", step):
        whole = name if "." in name else f"{last.rpartition('.')[0]}.{name}"  # a sibling of the one before
        assert exists(whole), whole
        last = whole


@pytest.mark.parametrize("part", PARTS)
def test_every_folder_has_a_section_that_asks_a_question(part: str) -> None:
    heads = [line for line in TEXT.splitlines() if line.startswith("## ") and f"`{part}/`" in line]
    assert heads, f"no section for {part}/"
    assert heads[0].endswith("?")


@pytest.mark.parametrize("file", TOP)
def test_links_of_the_top_files_lead_somewhere(file: str) -> None:
    pages = (ROOT / "mkdocs.yml").read_text()
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", (ROOT / file).read_text()):
        planned = target.startswith("docs/") and f" {target.removeprefix('docs/')}\n" in pages
        assert (ROOT / target).exists() or planned, target


def test_what_is_not_there_is_noticed() -> None:
    assert exists("tagger.Tagger.explain")
    assert not exists("tagger.Tagger.explode")
    assert not exists("kernels/text.pyx: Vocabulary.scum")
