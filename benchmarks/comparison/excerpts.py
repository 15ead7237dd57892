"""Render parts of the results as the tables of README.md and the guides."""

from collections.abc import Iterable

from benchmarks.comparison import results
from benchmarks.comparison.registry import FORMS, OURS, SYSTEMS
from benchmarks.comparison.standings import PEERS, Cell, Result, best, completed, finished
from benchmarks.comparison.tables import accuracy, machines, named, number

FIT = "abound-fit"
LEGEND = (
    "`abound fit` is what you get without options. In the other columns all systems learned the same tf-idf rows, "
    "except that fastText read the texts. Every system had the same processor time for tuning on development rows; the "
    "other system is the one with the best P@1. Core-seconds are processor time. The last two columns compare the "
    "tuned systems."
)


def rate(cell: Cell) -> str:
    """Return how many rows are ranked per core-second, with two digits."""
    return number(float(f"{1e6 / results.costs(cell)['rank_cpu_microseconds_a_row']:.2g}"))


def training(cell: Cell) -> str:
    return number(results.costs(cell)["train_cpu_seconds"])


def short(found: dict[str, Result], names: Iterable[str]) -> list[str]:
    """Return README's table: `abound fit`, abound and the best other system, all tuned, on a few data sets."""
    lines = [
        "| data set | labels | `abound fit`: P@1 / P@3 / P@5 | abound: default | abound: tuned "
        "| best other system, tuned | its P@1 / P@3 / P@5 | training, core-seconds: abound / other "
        "| rows ranked per core-second: abound / other |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    complete = completed(found)
    waiting = [name for name in names if name not in complete]
    for name in (name for name in names if name in complete):
        result = complete[name]
        default, tuned = (finished(result, form, [OURS])[OURS] for form in FORMS)
        fitted = finished(result, "default", [FIT])
        others = finished(result, "tuned", PEERS)
        other = best(others, "P@1")
        lines.append(
            f"| {name} | {result['labels']:,} | {accuracy(fitted[FIT]) if fitted else '-'} | {accuracy(default)} "
            f"| {accuracy(tuned)} | {named(result, 'tuned', other)} | {accuracy(others[other])} "
            f"| {training(tuned)} / {training(others[other])} | {rate(tuned)} / {rate(others[other])} |"
        )
    missing = [f"Not measured completely with this code: {', '.join(waiting)}."] if waiting else []
    return [*lines, "", " ".join([LEGEND, *missing, shared(complete, names)])]


def shared(found: dict[str, Result], names: Iterable[str]) -> str:
    """Return the machines of data sets as a sentence."""
    return f"{machines(found[name] for name in names if name in found)}, shared with others."


def brief(found: dict[str, Result], name: str) -> list[str]:
    """Return all systems on a data set: accuracy of both forms, and the costs of the tuned one."""
    complete = completed(found)
    if name not in complete:
        return [f"{name} is not measured completely with this code."]
    result = complete[name]
    lines = [
        "| system | default: P@1 / P@3 / P@5 | tuned: P@1 / P@3 / P@5 | training, core-seconds, tuned "
        "| rows ranked per core-second | MB |",
        "|---|---|---|---|---|---|",
    ]
    default, tuned = (finished(result, form, SYSTEMS) for form in FORMS)
    for system in SYSTEMS:
        if system in tuned or system in default:
            cell = tuned.get(system) or default[system]
            first = accuracy(default[system]) if system in default else "-"
            second = accuracy(cell) if system in tuned and SYSTEMS[system].grid else "-"
            memory = results.costs(cell)["peak_megabytes"]
            lines.append(
                f"| {SYSTEMS[system].name} | {first} | {second} | {training(cell)} | {rate(cell)} | {memory:,.0f} |"
            )
    return [*lines, "", f"{result['description']}. {shared(complete, [name])}"]


def side_by_side(found: dict[str, Result], names: Iterable[str]) -> list[str]:
    """Return several data sets side by side: accuracy and core-seconds of training of the tuned systems."""
    complete = completed(found)
    shown = [name for name in names if name in complete]
    if not shown:
        return [f"{', '.join(names)} are not measured completely with this code."]
    lines = [
        "| tuned: P@1 / P@3 / P@5, core-seconds of training | " + " | ".join(shown) + " |",
        "|---|" + "---|" * len(shown),
    ]
    cells = {name: finished(complete[name], "tuned", SYSTEMS) for name in shown}
    for system in SYSTEMS:
        if any(system in each for each in cells.values()):
            words = (
                f"{accuracy(cells[name][system])}, {training(cells[name][system])}" if system in cells[name] else "-"
                for name in shown
            )
            lines.append(f"| {SYSTEMS[system].name} | {' | '.join(words)} |")
    return [*lines, "", shared(complete, shown)]
