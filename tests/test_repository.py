"""The files that contributors and forges read agree with the project."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def parts():
    """Return the parts of the checks: those that run by default, and those that must be asked for."""
    lists = re.findall(r"^(?:all|more)=(\S+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert len(lists) == 2
    return ",".join(lists).split(",")


def test_the_citation_has_the_version_and_licence_of_the_project():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["title"], cited["version"], cited["license"]) == ("abound", PROJECT["version"], PROJECT["license"])
    assert len(cited["references"]) == 4


def test_the_workflow_runs_every_part_and_every_python():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    run = [part for entry in jobs["checks"]["strategy"]["matrix"]["parts"] for part in entry.split(",")]
    assert sorted(run) == sorted(parts())
    pythons = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line}
    assert set(jobs["systems"]["strategy"]["matrix"]["python"]) == pythons
    for job in jobs.values():
        assert job["timeout-minutes"] <= 90
    commands = "\n".join(step.get("run", "") for step in jobs["systems"]["steps"])
    for path in re.findall(r"tests/\S+", commands):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "lint,coffee"], "unknown part coffee; the parts are lint,"),
        (["--lint"], "usage: .ci/run [--only PART,...]"),
    ],
)
def test_an_unknown_part_of_the_checks_is_refused(arguments, message):
    done = subprocess.run(["bash", ROOT / ".ci" / "run", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr


def test_every_part_of_the_checks_has_a_function():
    text = (ROOT / ".ci" / "run").read_text()
    assert {f"run_{part}" for part in parts()} == set(re.findall(r"^(run_\w+)\(\) {", text, re.MULTILINE))
