"""Tables of results for a terminal."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from abound.tagger import LabelQuality

BAR_WIDTH = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence["RenderableType"]], right: str = "") -> None:
    """Print a table on stdout. `right` has an r at the position of each right-aligned column."""
    from rich.box import ASCII_DOUBLE_HEAD, SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text objects, because labels may contain square brackets, which rich takes for markup.
    box = SIMPLE_HEAD if _draws_blocks() else ASCII_DOUBLE_HEAD
    grid = Table(box=box, show_header=any(headings))
    for number, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if right[number : number + 1] == "r" else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    # Not the title of the Table, which wraps at the width of a narrow table.
    Console(highlight=False).print(Text(title, style="bold"), grid, sep="\n")


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values on stdout. Integers get thousands separators; None is omitted."""
    rows = [
        (name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in pairs if value is not None
    ]
    table(title, ("", ""), rows)


def bar(value: float, most: float, width: int = BAR_WIDTH) -> str:
    """Return a bar for a value; the largest value has the full width.

    Examples
    --------
    >>> len(bar(0.5, 1.0)), len(bar(1.0, 1.0))
    (10, 20)
    """
    eighths = round(8 * width * min(max(value / most, 0.0), 1.0)) if most > 0 else 0
    if not _draws_blocks():
        return "#" * (eighths // 8)
    return EIGHTHS[8] * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")


def _draws_blocks() -> bool:
    return (sys.stdout.encoding or "").lower().startswith("utf")


def measures_table(title: str, figures: dict[str, Any]) -> None:
    """Print the figures of an evaluation: metrics with their confidence intervals, assigned labels, calibration."""
    rows = [
        (name, f"{figure['value']:.4f}", f"{figure['low']:.4f} to {figure['high']:.4f}")
        for name, figure in figures["measures"].items()
    ]
    assigned, error = figures["assigned"], figures["calibration_error"]
    rows += [(f"{name} of assigned labels", f"{assigned[name]:.4f}", "") for name in ("precision", "recall")]
    rows.append(("F1 of assigned labels", f"{assigned['f1']:.4f}", ""))
    for name, value in figures.get("hierarchical", {}).items():
        rows.append((f"hierarchical {'F1' if name == 'f1' else name}", f"{value:.4f}", ""))
    if error is not None:
        rows.append(("calibration error", f"{error:.4f}", ""))
    table(title, ("metric", "value", "95% interval"), rows, " r")


def labels_table(title: str, labels: Sequence["LabelQuality"], name_of: Callable[[Any], str]) -> None:
    """Print the quality of labels."""

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    def named(row: "LabelQuality") -> str:
        return str(row.label) if row.name is None else f"{row.name} ({row.label})"

    rows = [
        (
            named(row),
            f"{row.support:,}",
            f"{row.assigned:,}",
            *(share(value) for value in (row.precision, row.recall, row.f1, row.average_precision)),
            f"{name_of(row.confused_with)} ({row.confused_rows:,})" if row.confused_rows else "",
        )
        for row in labels
    ]
    head = ("label", "rows", "assigned", "precision", "recall", "F1", "AP", "confused with")
    table(title, head, rows, " rrrrrr")
