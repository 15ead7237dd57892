"""The quality of each label as a table, which `abound evaluate` writes and `abound serve` reads."""

import csv
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from os import PathLike
from typing import Any

from abound.spreadsheets import guarded, unguarded
from abound.store.names import Name


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """How well one label is assigned.

    Attributes
    ----------
    label : name
    name : str or None
        The display name, if the label has one.
    support : int
        Texts that have the label.
    assigned : int
        Texts that the label was assigned to.
    precision : float or None
        Share of the assignments that are right; None if there are none.
    recall : float or None
        Share of the texts with the label that it was assigned to; None if there are none.
    f1 : float
        The harmonic mean of both.
    average_precision : float or None
        Of the texts, ordered by the label's probability; None if no text has the label.
    confused_with : name or None
        The wrong label that was assigned most often where this one was missing.
    confused_rows : int
        The number of these texts.
    """

    label: Name
    name: str | None
    support: int
    assigned: int
    precision: float | None
    recall: float | None
    f1: float
    average_precision: float | None
    confused_with: Name | None
    confused_rows: int


COLUMNS = tuple(field.name for field in fields(LabelQuality))
COUNTS = ("support", "assigned", "confused_rows")
SHARES = ("precision", "recall", "f1", "average_precision")


def write_quality(rows: Iterable[LabelQuality], path: str | PathLike[str]) -> None:
    """Write the quality of labels as CSV, in the order of the rows. None becomes an empty cell."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in astuple(row)])


def read_quality(path: str | PathLike[str]) -> list[LabelQuality]:
    """Read the quality of labels that `write_quality` wrote. Names of labels are strings.

    A spreadsheet may have changed the order of rows and columns, or added columns.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="")
        try:
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise _Unusable(f"it has no column {missing[0]!r}")
            rows = [_row(_unguarded(cells), reader.line_num) for cells in reader]
        except UnicodeDecodeError:
            raise ValueError(f"{path} {WRONG_FILE}: it is not text in UTF-8") from None
        except (_Unusable, csv.Error) as error:
            raise ValueError(f"{path} {WRONG_FILE}: {error}") from None
    seen: set[Name] = set()
    for row in rows:
        if row.label in seen:
            raise ValueError(f"{path} {WRONG_FILE}: it has label {row.label!r} twice")
        seen.add(row.label)
    return rows


WRONG_FILE = "is not a table that `abound evaluate --per-label-csv` writes"


def _unguarded(cells: dict[str, Any]) -> dict[str, Any]:
    return {name: unguarded(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}


class _Unusable(ValueError):  # noqa: N818  never leaves this module
    """What is wrong with a file."""


def _row(cells: dict[str, Any], line: int) -> LabelQuality:
    if any(cells[name] is None for name in COLUMNS):
        raise _Unusable(f"line {line} has too few cells")
    if not cells["label"]:
        raise _Unusable(f"line {line} has no label")
    values: dict[str, Any] = {name: cells[name] or None for name in ("name", "confused_with")}
    for name in COUNTS:
        values[name] = _number(cells[name], int, name, line)
    for name in SHARES:
        values[name] = None if not cells[name] and name != "f1" else _number(cells[name], float, name, line)
        if values[name] is not None and not values[name] <= 1:
            raise _Unusable(f"{name} in line {line} must be at most 1, got {cells[name]!r}")
    return LabelQuality(label=cells["label"], **values)


def _number(cell: str, kind: type[int] | type[float], name: str, line: int) -> float:
    try:
        value = kind(cell)
    except ValueError:
        value = -1
    if not value >= 0:
        what = "a whole number" if kind is int else "a number"
        raise _Unusable(f"{name} in line {line} must be {what} of at least 0, got {cell!r}")
    return value
