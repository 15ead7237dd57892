"""Cells of a table that a spreadsheet would compute as formulas."""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]").match
_NUMBER = re.compile(r"[+-][0-9]+(?:[.,][0-9]+)?").fullmatch
_GUARDED = re.compile(r"'+[=+\-@\t\r\n]").match


def guarded(cell: str) -> str:
    """Return a cell with a single quote before it if a spreadsheet would compute it; numbers are not changed.

    Examples
    --------
    >>> guarded("=1+1"), guarded("-5"), guarded("roses")
    ("'=1+1", '-5', 'roses')
    """
    return f"'{cell}" if _FORMULA(cell) and not _NUMBER(cell) else cell


def unguarded(cell: str) -> str:
    """Return what was given to `guarded`.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded(guarded("'=1"))
    ('=1+1', "'tis", "'=1")
    """
    return cell[1:] if _GUARDED(cell) else cell
