"""The commands of a release refuse what does not fit, before anything is built."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")


@pytest.fixture
def versions() -> ModuleType:
    found = importlib.util.spec_from_file_location("versions", ROOT / ".ci" / "versions.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_the_changelog_has_the_headings_of_keep_a_changelog(versions: ModuleType):
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert versions.wrong_headings(changes) == []
    assert changes.count("\n## [Unreleased]\n") == 1
    assert versions.wrong_headings("## 0.1.0\n\n### Renamed\n\n#### Anything\n") == [
        "CHANGELOG.md: '## 0.1.0'",
        "CHANGELOG.md: '### Renamed' is none of Added, Changed, Deprecated, Removed, Fixed, Security",
    ]


def test_a_version_is_set_in_all_files_and_agrees_with_its_tag(versions: ModuleType, copy: Path):
    versions.write(copy, "7.8.9", "2031-02-03")
    assert versions.problems(copy, "v7.8.9") == []
    assert "\n## [Unreleased]\n\n## [7.8.9] - 2031-02-03\n" in (copy / "CHANGELOG.md").read_text()
    for name in FILES:
        assert (copy / name).read_text().count("7.8.9") == 1
    assert versions.problems(copy, "v7.8.10") == [
        "pyproject.toml has the version 7.8.9, the tag 7.8.10",
        "CITATION.cff has the version 7.8.9, the tag 7.8.10",
        "CHANGELOG.md has no heading '## [7.8.10] - YYYY-MM-DD'",
    ]


@pytest.mark.parametrize("tag", ["7.8.9", "v7.8", "v7.8.9.dev0", "release"])
def test_a_tag_that_is_no_release_is_refused(versions: ModuleType, copy: Path, tag: str):
    assert versions.problems(copy, tag) == [f"the tag is {tag!r}; it must be v and a version, such as v0.1.0"]


def test_a_version_that_is_none_is_not_written(versions: ModuleType, copy: Path):
    with pytest.raises(SystemExit, match="is no version"):
        versions.write(copy, "1.0-final", "2031-02-03")
    assert all((copy / name).read_bytes() == (ROOT / name).read_bytes() for name in FILES)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "usage: .ci/release [--dry-run] TAG [FOLDER]"),
        (["--dry", "v1.0.0"], 2, "usage: .ci/release [--dry-run] TAG [FOLDER]"),
        (["--dry-run", "v99.0.0"], 1, "there is no tag v99.0.0; make one with: git tag -a v99.0.0"),
    ],
)
def test_a_release_needs_a_tag(arguments: list[str], code: int, message: str):
    done = subprocess.run(["bash", ROOT / ".ci" / "release", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{message}\n")


def test_a_release_stops_when_the_tag_and_the_version_disagree(tmp_path: Path):
    """It stops before it makes an environment, and leaves no files."""
    shutil.copytree(ROOT / ".ci", tmp_path / "clone" / ".ci")
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / "clone")

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        subprocess.run(["git", "-C", tmp_path / "clone", *who, *arguments], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "All")
    git("tag", "v99.0.0")
    command = ["bash", tmp_path / "clone" / ".ci" / "release", "--dry-run", "v99.0.0", tmp_path / "dist"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"pyproject.toml has the version \S+, the tag 99.0.0", done.stdout)
    assert "== the tools" not in done.stdout
    assert not (tmp_path / "dist").exists()


def test_the_smoke_test_refuses_sources():
    """It would otherwise test the checkout instead of the wheel."""
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "smoke.py"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert done.stderr.endswith("is not the installed package\n")


def test_the_workflow_makes_its_files_with_the_same_command():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    commands = [step.get("run", "") for step in jobs["source"]["steps"]]
    assert '.ci/release --dry-run "$GITHUB_REF_NAME" dist' in commands
    used = [step.get("uses", "").partition("@")[0] for step in jobs["publish"]["steps"]]
    publishing = used.index("pypa/gh-action-pypi-publish")
    assert used.index("actions/attest-build-provenance") < publishing
    assert set(jobs["publish"]["needs"]) == {"check", "wheels", "source"}
