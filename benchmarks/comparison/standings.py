"""Select cells of results, and compare abound with the other systems of a data set."""

from collections.abc import Iterable
from typing import Any

from benchmarks.comparison import results
from benchmarks.comparison.measures import MEASURES
from benchmarks.comparison.registry import FORMS, OURS, RUNS, SYSTEMS

Result = dict[str, Any]
Cell = dict[str, Any]

PEERS = tuple(name for name, system in SYSTEMS.items() if not system.is_ours)


def finished(result: Result, form: str, names: Iterable[str]) -> dict[str, Cell]:
    """Return the cells of systems with figures."""
    found = {name: results.cell_of(result, name, form) for name in names}
    return {name: cell[1] for name, cell in found.items() if cell is not None and "failed" not in cell[1]}


def is_complete(result: Result) -> bool:
    """Return whether all cells of a data set are there, with all their runs, and are compared."""
    cells = [results.cell_of(result, name, form) for name, system in SYSTEMS.items() for form in system.forms]
    runs_done = all(cell is not None and ("failed" in cell[1] or len(cell[1]["runs"]) == RUNS) for cell in cells)
    compared = all(
        form in cell.get("ours_less_it", {})
        for form in FORMS
        if finished(result, form, [OURS])
        for cell in finished(result, form, PEERS).values()
    )
    return runs_done and compared


def best(cells: dict[str, Cell], measure: str) -> str:
    return max(cells, key=lambda name: cells[name]["accuracy"][measure][0])


def standing(result: Result, form: str) -> dict[str, list[str]]:
    """Return the measures for which abound is above all other systems, below one of them, or neither."""
    cells, found = finished(result, form, PEERS), {"above": [], "level": [], "below": []}  # type: ignore[var-annotated]
    for measure in MEASURES:
        intervals = [cell["ours_less_it"][form][measure] for cell in cells.values()]
        is_below, is_above = any(high < 0 for *_, high in intervals), all(low > 0 for _, low, _ in intervals)
        found["below" if is_below else "above" if is_above else "level"].append(measure)
    return found


def stopped(result: Result, form: str) -> list[str]:
    """Return the other systems that have no figures because a run was stopped or failed."""
    found = {name: results.cell_of(result, name, form) for name in PEERS if form in SYSTEMS[name].forms}
    return [name for name, cell in found.items() if cell and "failed" in cell[1] and "refused" not in cell[1]]


def worst(cells: dict[str, Cell], form: str, measure: str) -> str:
    """Return the system that is above abound by most, of those that are by more than the interval."""
    return min(
        (name for name, cell in cells.items() if cell["ours_less_it"][form][measure][2] < 0),
        key=lambda name: cells[name]["ours_less_it"][form][measure][0],
    )


def completed(found: dict[str, Result]) -> dict[str, Result]:
    """Return the results that are complete."""
    return {name: result for name, result in found.items() if is_complete(result)}
