"""Run the tests of a mutant in a forked process, which has already imported what tests import from others."""

import contextlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.covering import MARKS, PLUGINS, Covering
from tests.mutants.sources import ROOT, Mutant

MOST_TESTS, MOST_SECONDS = 300, 30.0  # of tests for a mutant, the fastest first
SLACK, LEAST_SECONDS = 5.0, 30.0  # a mutant may take so many times as long as its tests before it counts as killed


class Runner:
    """A copy of the source in which one mutant at a time is made."""

    def __init__(
        self, folder: Path, covering: Covering, *, limits: tuple[int, float] = (MOST_TESTS, MOST_SECONDS)
    ) -> None:
        self._most_tests, self._most_seconds = limits
        self.source = folder / "src"
        if self.source.exists():
            shutil.rmtree(self.source)
        shutil.copytree(ROOT / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))
        self.covering = covering
        self.log = folder / "last.txt"
        self.times = folder / "unchanged.json"
        sys.path[:0] = [str(ROOT), str(self.source)]
        sys.dont_write_bytecode = True  # a mutant of the same second and size would not be compiled again
        import numpy  # noqa: F401
        import scipy.sparse  # noqa: F401
        import sklearn.utils  # noqa: F401

    def leave_out_failing(self) -> list[str]:
        """Run new tests on the unchanged source, and leave out those that fail; return them."""
        ran: dict[str, Any] = (
            json.loads(self.times.read_text()) if self.times.exists() else {"seconds": {}, "failed": []}
        )
        tests = {test for lines in self.covering.lines.values() for some in lines.values() for test in some}
        new = sorted(tests - set(ran["seconds"]))
        if new:
            written = self.times.with_suffix(".new")
            os.environ["ABOUND_TEST_TIMES"] = str(written)
            self._outcome(["--maxfail=0", *new], limit=3600.0)
            del os.environ["ABOUND_TEST_TIMES"]
            if not written.exists():
                raise RuntimeError(f"the tests did not run on the unchanged source:\n{self.log.read_text()[-3000:]}")
            found = json.loads(written.read_text())
            ran = {"seconds": ran["seconds"] | found["seconds"], "failed": [*ran["failed"], *found["failed"]]}
            self.times.write_text(json.dumps(ran))
            written.unlink()
        self.covering = self.covering.without(set(ran["failed"]))
        return list(ran["failed"])

    def tests_for(self, mutant: Mutant) -> list[str]:
        """Return the tests of a mutant, within the limits."""
        chosen, seconds = [], 0.0
        for test in self.covering.tests_of(mutant.path, mutant.line)[: self._most_tests]:
            seconds += self.covering.seconds.get(test, 0.0)
            if chosen and seconds > self._most_seconds:
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
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(self.source), str(ROOT), *filter(None, given)])
        code = int(pytest.ExitCode.INTERNAL_ERROR)
        try:
            code = int(pytest.main(["-q", "-x", *PLUGINS, "-m", MARKS, *tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)


def outcome_of(code: int) -> str:
    """Return what an exit code of pytest says of a mutant; its tests have passed on the unchanged source."""
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError("pytest ran no test of the mutant")
    return "survived" if code == pytest.ExitCode.OK else "killed"


def changed(before: str, after: str) -> dict[str, object]:
    """Return the first line that differs, before and after."""
    for number, (old, new) in enumerate(zip(before.splitlines(), after.splitlines(), strict=False), 1):
        if old != new:
            return {"line": number, "before": old.strip(), "after": new.strip()}
    return {"before": before[-80:], "after": after[-80:]}
