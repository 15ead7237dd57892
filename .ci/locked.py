"""Check that requirements/dev.txt has all packages of some groups and extras of pyproject.toml, with hashes."""

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
HASHES = r"[^\n]*\\\n(?:    --hash=sha256:[0-9a-f]{64}.*\n)+"
ENTRY = re.compile(rf"^([A-Za-z0-9._-]+)==([^ ;\\]+)({HASHES})?", re.MULTILINE)


def main() -> int:
    split = sys.argv.index("--")
    groups, extras = sys.argv[1:split], sys.argv[split + 1 :]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [line for name in extras for line in project["project"]["optional-dependencies"][name]]
    wanted += [line for name in groups for line in project["dependency-groups"][name]]
    text = (ROOT / "requirements" / "dev.txt").read_text()
    locked = {canonicalize_name(name): (version, hashes) for name, version, hashes in ENTRY.findall(text)}
    problems = [f"{name} has no hash" for name, (_, hashes) in locked.items() if not hashes]
    if "://" in text:
        problems.append("it contains a URL; pip's configuration determines the index")
    for line in wanted:
        requirement = Requirement(line)
        version, _ = locked.get(canonicalize_name(requirement.name), (None, None))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            problems.append(f"{line} is locked to {version}")
    for problem in problems:
        print(f"requirements/dev.txt: {problem}; run .ci/lock", file=sys.stderr)
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
