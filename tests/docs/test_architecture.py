"""Test that ARCHITECTURE.md has a section per folder, and that the files and functions that it names exist."""

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
MOST_WORDS = 1500
DECISIONS = ROOT / "docs" / "decisions"
RECORDS = sorted(path for path in DECISIONS.glob("*.md") if path.name != "index.md")
PARTS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py")))


def exists(name: str) -> bool:
    """Return whether a name such as `kernels/text.pyx: Vocabulary.scan` or `data.read` exists."""
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
        whole = name if "." in name else f"{last.rpartition('.')[0]}.{name}"  # a sibling of the previous one
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


def test_the_page_is_short() -> None:
    assert len(TEXT.split()) <= MOST_WORDS, "move reasons and figures to docs/decisions"
    assert "](docs/decisions/index.md)" in TEXT


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_decision_has_a_number_a_date_and_its_sections(path: Path) -> None:
    assert path.name.startswith(f"{RECORDS.index(path) + 1:04d}-")
    text = path.read_text()
    form = r"# (.+)\n\n(\d{4}-\d\d-\d\d)\n\n## Context\n\n[^#]+\n## Decision\n\n[^#]+\n## Figures\n\n[^#]+\n"
    found = re.fullmatch(form, text)
    assert found, "it needs a title, a date, and the sections Context, Decision and Figures"
    listed = f"| {path.name[:4]} | [{found[1]}]({path.name}) | {found[2]} |"
    assert listed in (DECISIONS / "index.md").read_text().splitlines()


def test_the_list_of_decisions_has_no_other_lines() -> None:
    assert len(re.findall(r"^\| \d", (DECISIONS / "index.md").read_text(), re.M)) == len(RECORDS) > 50


def test_what_is_not_there_is_noticed() -> None:
    assert exists("tagger.Tagger.explain")
    assert not exists("tagger.Tagger.explode")
    assert not exists("kernels/text.pyx: Vocabulary.scum")
