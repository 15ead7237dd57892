"""Set the version of a release, or check that a tag, the files and the changelog agree.

python .ci/versions.py set 0.1.0      pyproject.toml, CITATION.cff and CHANGELOG.md, with today's date
python .ci/versions.py check v0.1.0   print the version, or fail with what disagrees
"""

import datetime
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")  # the names of Keep a Changelog


def problems(root: Path, tag: str) -> list[str]:
    """Return what stands between a tag and its release; empty if nothing does."""
    version = tag.removeprefix("v")
    if tag == version or not VERSION.fullmatch(version):
        return [f"the tag is {tag!r}; it must be v and a version, such as v0.1.0"]
    found = []
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if project != version:
        found.append(f"pyproject.toml has the version {project}, the tag {version}")
    cited = re.findall(r"^version: (\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if cited != [version]:
        found.append(f"CITATION.cff has the version {', '.join(cited)}, the tag {version}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## [{version}] - YYYY-MM-DD'")
    return found + wrong_headings(changes)


def wrong_headings(changes: str) -> list[str]:
    """Return the headings of a changelog that do not follow Keep a Changelog."""
    versions = re.findall(r"^## (.*)$", changes, re.MULTILINE)
    date = r"\[\d+\.\d+\.\d+\w*\] - \d{4}-\d\d-\d\d"
    found = [f"CHANGELOG.md: '## {line}'" for line in versions if not re.fullmatch(rf"\[Unreleased\]|{date}", line)]
    sections = re.findall(r"^### (.*)$", changes, re.MULTILINE)
    return found + [
        f"CHANGELOG.md: '### {line}' is none of {', '.join(SECTIONS)}" for line in sections if line not in SECTIONS
    ]


def write(root: Path, version: str, date: str) -> None:
    """Write a version to all files that have it, and give the unreleased changes its heading."""
    if not VERSION.fullmatch(version):
        raise SystemExit(f"{version!r} is no version; one is 0.1.0 or 0.2.0rc1")
    for name, pattern, line in (
        ("pyproject.toml", r'^version = "[^"]*"', f'version = "{version}"'),
        ("CITATION.cff", r"^version: .*$", f"version: {version}"),
        ("CHANGELOG.md", r"^## \[Unreleased\]$", f"## [Unreleased]\n\n## [{version}] - {date}"),
    ):
        text, n = re.subn(pattern, line, (root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if n != 1:
            raise SystemExit(f"{name} has {n} places for the version, not one")
        (root / name).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["set", version]:
            write(ROOT, version, datetime.datetime.now(datetime.UTC).date().isoformat())
        case ["check", tag]:
            found = problems(ROOT, tag)
            print("\n".join(found) or f"{tag}: pyproject.toml, CITATION.cff and CHANGELOG.md agree")
            return len(found) > 0
        case _:
            raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
