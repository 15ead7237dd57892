"""Run the tests of a mutant in a forked process, which has already imported what tests import from others."""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.mutants.covering import MARKS, Covering
from tests.mutants.sources import ROOT, Mutant

MOST_TESTS, MOST_SECONDS = 300, 30.0  # of tests for a mutant, the fastest first
SLACK, LEAST_SECONDS = 5.0, 30.0  # a mutant may take so many times as long as its tests before it counts as killed


class Runner:
    """A copy of the source in which one mutant at a time is made."""

    def __init__(self, folder: Path, covering: Covering) -> None:
        self.source = folder / "src"
        if self.source.exists():
            shutil.rmtree(self.source)
        shutil.copytree(ROOT / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))
        self.covering = covering
        self.log = folder / "last.txt"
        sys.path[:0] = [str(ROOT), str(self.source)]
        sys.dont_write_bytecode = True  # a mutant of the same second and size would not be compiled again
        import hypothesis  # noqa: F401
        import numpy  # noqa: F401
        import scipy.sparse  # noqa: F401
        import sklearn.utils  # noqa: F401

    def tests_for(self, mutant: Mutant) -> list[str]:
        """Return the tests of a mutant, within the limits."""
        chosen, seconds = [], 0.0
        for test in self.covering.tests_of(mutant.path, mutant.line)[:MOST_TESTS]:
            seconds += self.covering.seconds.get(test, 0.0)
            if chosen and seconds > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen

    def run(self, mutant: Mutant) -> dict[str, object]:
        """Return what became of a mutant: killed, killed by the time limit, survived, or not covered."""
        from cosmic_ray import plugins
        from cosmic_ray.mutating import mutate_code

        tests = self.tests_for(mutant)
        if not tests:
            return {"outcome": "not covered", "tests": 0}
        path = self.source.parent / mutant.path
        code = path.read_text()
        mutated = mutate_code(code, plugins.get_operator(mutant.operator)(), mutant.occurrence)
        assert mutated is not None
        path.write_text(mutated)
        try:
            known = sum(self.covering.seconds.get(test, 0.0) for test in tests)
            return {"outcome": self._outcome(tests, max(LEAST_SECONDS, SLACK * known)), "tests": len(tests)} | changed(
                code, mutated
            )
        finally:
            path.write_text(code)

    def _outcome(self, tests: list[str], limit: float) -> str:
        child = os.fork()
        if child == 0:
            os.setsid()
            self._run_tests(tests)
        end = time.monotonic() + limit
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return outcome_of(os.waitstatus_to_exitcode(status))
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "killed by the time limit"

    def _run_tests(self, tests: list[str]) -> None:
        file = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.chdir(ROOT)
        os.environ["PYTHONPATH"] = f"{self.source}{os.pathsep}{ROOT}"
        code = 1
        try:
            code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", MARKS, *tests]))
        finally:
            os._exit(code)


def outcome_of(code: int) -> str:
    """Return what an exit code of pytest says of a mutant; if no test ran, that is an error and not a kill."""
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest ended with {code}: the tests of the mutant did not run")
    return "survived" if code == pytest.ExitCode.OK else "killed"


def changed(before: str, after: str) -> dict[str, object]:
    """Return the first line that differs, before and after."""
    for number, (old, new) in enumerate(zip(before.splitlines(), after.splitlines(), strict=False), 1):
        if old != new:
            return {"line": number, "before": old.strip(), "after": new.strip()}
    return {"before": before[-80:], "after": after[-80:]}
