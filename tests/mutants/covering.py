"""Find the tests that execute a line: each mutant is run only against these."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutants.sources import GROUPS, ROOT

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

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"lines": self.lines, "seconds": self.seconds}))

    @classmethod
    def load(cls, path: Path) -> "Covering":
        found: dict[str, Any] = json.loads(path.read_text())
        lines = {file: {int(line): tests for line, tests in known.items()} for file, known in found["lines"].items()}
        return cls(lines, found["seconds"])


def measure(folder: Path) -> Covering:
    """Run the tests of every group under coverage, and return which tests execute which lines."""
    from coverage import CoverageData

    found = Covering()
    for number, (group, tests) in enumerate(GROUPS.items()):
        data = folder / f"coverage-{number}"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.timing"]
        command += ["-m", MARKS, f"--cov={ROOT / 'src/abound'}", "--cov-context=test", "--cov-report="]
        environment = {"COVERAGE_FILE": str(data), "ABOUND_TEST_SECONDS": str(folder / f"seconds-{number}.json")}
        subprocess.run([*command, *tests], cwd=ROOT, env={**os.environ, **environment}, check=False)
        found.seconds |= json.loads((folder / f"seconds-{number}.json").read_text())
        read = CoverageData(basename=str(data))
        read.read()
        for file in read.measured_files():
            path = str(Path(file).relative_to(ROOT))
            if path.startswith(f"src/abound/{group}"):
                found.lines[path] = {
                    line: sorted({one.partition("|")[0] for one in contexts if one})
                    for line, contexts in read.contexts_by_lineno(file).items()
                }
    return found
