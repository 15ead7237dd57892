"""benchmarks/README.md has one line for each part, with a page and a test that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
LINES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (BENCHMARKS / "README.md").read_text().splitlines()
    if line.startswith("| `")
]


def parts() -> set[str]:
    modules = {path.name for path in BENCHMARKS.glob("*.py")} - {"__init__.py"}
    return modules | {path.parent.name for path in BENCHMARKS.glob("*/__init__.py")}


def test_every_part_has_one_line_in_order():
    listed = [line[0].strip("`") for line in LINES]
    assert listed == sorted(parts())


def test_pages_and_tests_exist():
    for _, _, page, test in LINES:
        for target in re.findall(r"\]\(([^)]+)\)", page):
            assert (BENCHMARKS / target).is_file(), target
        for path in re.findall(r"`([^`]+)`", test):
            assert (ROOT / "tests" / path).is_file(), path


def test_every_part_is_used():
    """A part without a page or a test must be used by another part."""
    sources = {path: path.read_text() for path in [*BENCHMARKS.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]}
    for name, _, page, test in LINES:
        module = name.strip("`").removesuffix(".py")
        used = re.compile(rf"benchmarks\.{module}\b|from benchmarks import .*\b{module}\b")
        users = [path for path, text in sources.items() if path.stem != module and used.search(text)]
        assert page or test or users, name
