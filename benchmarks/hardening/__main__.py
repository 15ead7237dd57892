"""Print what attacks, damage and fuzzing have found, and put it into docs/reliability.md.

python -m benchmarks.hardening            print the table, and write it into the page
python -m benchmarks.hardening --check    fail if the page does not say what the result files say

The figures come from benchmarks.hostile, benchmarks.damage and tests.fuzz.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "reliability.md"
MARK = re.compile(r"(<!-- figures:(?P<name>[a-z]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)
DAMAGES = ("flipped bits", "cuts", "torn blocks")


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def hostile() -> list[str]:
    result = read("hostile")
    lines = [
        "| format | attacks | refused | accepted | ran the code | worst seconds | worst MB above the file |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, attacks in sorted(result["formats"].items()):
        outcomes = [found["outcome"] for found in attacks.values()]
        seconds = max(found["seconds"] for found in attacks.values())
        megabytes = max(found["megabytes_above"] for found in attacks.values())
        counts = " | ".join(str(outcomes.count(which)) for which in ("refused", "accepted", "ran the code"))
        lines.append(f"| {name} | {len(attacks)} | {counts} | {seconds:.2f} | {megabytes:,.0f} |")
    return [*lines, "", f"CPU seconds, each attack in a fresh process. {result['machine']}."]


def damage() -> list[str]:
    result = read("damage")
    lines = [
        "| format | damage | times | noticed | harmless | silently wrong | crash |",
        "|---|---|---|---|---|---|---|",
    ]
    for figures in result["formats"].values():
        for which in DAMAGES:
            found = figures[which]
            crashed = found["other error"] + found["crash or hang"]
            counts = f"{found['n']:,} | {found['noticed']:,} | {found['harmless']:,} | {found['silently wrong']:,}"
            lines.append(
                f"| {figures['name']} {figures['version']} | {which} | {counts} | {crashed} |".replace("  ", " ")
            )
    return [*lines, "", f"{result['machine']}."]


def fuzz() -> list[str]:
    result = read("fuzz")
    lines = ["| target | inputs |", "|---|---|"]
    lines += [f"| {name} | {count:,} |" for name, count in sorted(result["inputs"].items())]
    build = "bounds-checked" if result["bounds_checked"] else "ordinary"
    total = sum(result["inputs"].values())
    failed = ", ".join(result["failed"]) or "none"
    return [*lines, f"| together | {total:,} |", "", f"On the {build} build; targets with a failure: {failed}."]


PARTS = {"hostile": hostile, "damage": damage, "fuzz": fuzz}


def lines_of(name: str) -> list[str]:
    """Return a part of the page, or that it was not measured yet."""
    if not (RESULTS / f"{name}.json").exists():
        return ["Not measured yet."]
    return PARTS[name]()


def render(text: str) -> str:
    return MARK.sub(lambda match: match[1] + "\n".join(lines_of(match["name"])) + "\n" + match[3], text)


def main() -> int:
    text = PAGE.read_text()
    if "--check" in sys.argv:
        if render(text) != text:
            print("docs/reliability.md is not what the result files say; run python -m benchmarks.hardening")
        return render(text) != text
    for name in PARTS:
        print("\n".join(lines_of(name)), end="\n\n")
    PAGE.write_text(render(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
