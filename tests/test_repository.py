"""The files that contributors and forges read agree with the project."""

import re
import subprocess
import sys
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


def test_tests_of_a_group_share_a_worker(tmp_path):
    # If pytest-xdist ignores groups, every worker starts Spark, builds the site and makes the same results again.
    (tmp_path / "test_groups.py").write_text(
        "import pytest\n\n\n@pytest.mark.parametrize('number', range(6))\n@pytest.mark.xdist_group('one')\n"
        "def test_one(number, worker_id):\n    print(f'ran by {worker_id}')\n"
    )
    command = f"{sys.executable} -m pytest -n 2 --dist loadgroup -rP -p no:cacheprovider test_groups.py"
    done = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    workers = re.findall(r"^ran by (\w+)$", done.stdout, re.MULTILINE)
    assert (len(workers), len(set(workers))) == (6, 1)
