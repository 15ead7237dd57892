"""Find the tests that execute a line: each mutant is run only against these."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutants.sources import GROUPS, ROOT

PLUGINS = ("-p", "no:cacheprovider", "-p", "tests.mutants.plugin", "--hypothesis-profile=mutants")
MARKS = "not slow and not browser and not data"


@dataclass
class Covering:
    """The tests of each line, and how long each test takes."""

    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def tests_of(self, path: str, line: int) -> list[str]:
        """Return the tests that execute a line, the fastest first; for a line of the module, those of the file."""
        lines = self.lines.get(path, {})
        found = set(lines.get(line, ())) or {test for tests in lines.values() for test in tests}
        return sorted(found, key=lambda test: (self.seconds.get(test, 0.0), test))

    def without(self, failed: set[str]) -> "Covering":
        """Return the same without tests that fail anyway: they would kill every mutant."""
        lines = {
            path: {line: [test for test in tests if test not in failed] for line, tests in known.items()}
            for path, known in self.lines.items()
        }
        return Covering(lines, self.seconds)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"lines": self.lines, "seconds": self.seconds}))

    @classmethod
    def load(cls, path: Path) -> "Covering":
        found: dict[str, Any] = json.loads(path.read_text())
        lines = {file: {int(line): tests for line, tests in known.items()} for file, known in found["lines"].items()}
        return cls(lines, found["seconds"])


def measure(folder: Path) -> Covering:
    """Run the tests of every group under coverage, and return which tests execute which lines."""
    found = Covering()
    for number, (group, tests) in enumerate(GROUPS.items()):
        _add(found, folder, str(number), tests, (group,))
    return found


def add(covering: Covering, folder: Path, tests: Iterable[str]) -> None:
    """Run some tests, which are new or were changed, under coverage, and add which lines they execute."""
    for name in ("times-added.json", "coverage-added"):
        (folder / name).unlink(missing_ok=True)
    _add(covering, folder, "added", tests, GROUPS)


def _add(found: Covering, folder: Path, name: str, tests: Iterable[str], groups: Iterable[str]) -> None:
    from coverage import CoverageData

    data, times = folder / f"coverage-{name}", folder / f"times-{name}.json"
    command = [sys.executable, "-m", "pytest", "-q", *PLUGINS]
    command += [
        "-m",
        MARKS,
        f"--cov={ROOT / 'src/abound'}",
        "--cov-context=test",
        "--cov-report=",
        f"--cov-config={os.devnull}",
    ]
    environment = {"COVERAGE_FILE": str(data), "ABOUND_TEST_TIMES": str(times)}
    if not times.exists():
        subprocess.run([*command, *tests], cwd=ROOT, env={**os.environ, **environment}, check=False)
    found.seconds |= json.loads(times.read_text())["seconds"]
    read = CoverageData(basename=str(data))
    read.read()
    for file in read.measured_files():
        path = str(Path(file).relative_to(ROOT))
        if path.startswith(tuple(f"src/abound/{group}" for group in groups)):
            lines = found.lines.setdefault(path, {})
            for line, contexts in read.contexts_by_lineno(file).items():
                executing = {one.partition("|")[0] for one in contexts if one}
                lines[line] = sorted(executing | set(lines.get(line, ())))
