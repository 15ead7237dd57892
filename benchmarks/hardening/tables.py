"""Render the results of attacks, damage and fuzzing as tables; `benchmarks.readme` writes docs/reliability.md."""

import re

from benchmarks.page_figures import read

NUMBER = re.compile(r"\d[\d,]*(?<!,)")
DAMAGES = ("flipped bits", "cuts", "torn blocks")


def hostile() -> list[str]:
    result = read("hostile")
    lines = [
        "| format | attacks | refused | accepted | code executed | max. seconds | max. MB above the file size |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, attacks in sorted(result["formats"].items()):
        outcomes = [found["outcome"] for found in attacks.values()]
        seconds = max(found["seconds"] for found in attacks.values())
        megabytes = max(found["megabytes_above"] for found in attacks.values())
        counts = " | ".join(str(outcomes.count(which)) for which in ("refused", "accepted", "ran the code"))
        lines.append(f"| {name} | {len(attacks)} | {counts} | {seconds:.2f} | {megabytes:,.0f} |")
    return [*lines, "", f"CPU seconds; each attack runs in a new process. {result['machine']}."]


def damage() -> list[str]:
    result = read("damage")
    lines = [
        "| format | damage | cases | noticed | harmless | silently wrong | crash |",
        "|---|---|---|---|---|---|---|",
    ]
    for figures in result["formats"].values():
        for which in DAMAGES:
            found = figures[which]
            crashed = found["other error"] + found["crash or hang"]
            counts = f"{found['n']:,} | {found['noticed']:,} | {found['harmless']:,} | {found['silently wrong']:,}"
            name = f"{figures['name']} {figures['version']}".strip()
            lines.append(f"| {name} | {which} | {counts} | {crashed} |")
    return [*lines, "", f"{result['machine']}."]


def fuzz() -> list[str]:
    result = read("fuzz")
    lines = ["| target | inputs |", "|---|---|"]
    lines += [f"| {name} | {count:,} |" for name, count in sorted(result["inputs"].items())]
    build = "bounds-checked" if result["bounds_checked"] else "ordinary"
    total = sum(result["inputs"].values())
    failed = ", ".join(result["failed"]) or "none"
    calls = {name: sum(kept["methods"].values()) for name, kept in sorted(result.get("calls", {}).items())}
    by_build = " and ".join(f"{n:,} on the {name} build" for name, n in calls.items())
    public = [f"Public calls: {by_build}."] if calls else []
    return [*lines, f"| total | {total:,} |", "", f"On the {build} build; targets with a failure: {failed}.", *public]


def suites() -> list[str]:
    result = read("slow-suites")
    lines = ["| suite | tests passed | failed | minutes |", "|---|---|---|---|"]
    lines += [
        f"| {found['what']} | {found['passed']:,} | {found['failed']} | {found['minutes']:.0f} |"
        for found in result["suites"].values()
    ]
    said = [f"- {line}." for found in result["suites"].values() for line in summed(found["printed"])]
    return [*lines, "", *said, *([""] if said else []), f"{result['machine']}, shared with others."]


def summed(lines: list[str]) -> list[str]:
    """Return what a suite printed; lines that differ only in their numbers become one, with the sums."""
    if len(lines) < 2:
        return lines
    numbers = [[int(n.replace(",", "")) for n in NUMBER.findall(line)] for line in lines]
    sums = iter(f"{sum(column):,}" for column in zip(*numbers, strict=True))
    return [NUMBER.sub(lambda _: next(sums), lines[0])]


PARTS = {"hostile": hostile, "damage": damage, "fuzz": fuzz, "suites": suites}
