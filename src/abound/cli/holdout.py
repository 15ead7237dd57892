"""Held-out rows: a rule on row numbers, so that every command selects the same rows."""

import os
from dataclasses import dataclass
from fractions import Fraction
from math import floor


@dataclass(frozen=True)
class Holdout:
    """Rows to measure on, which are not learned.

    Attributes
    ----------
    share : Fraction
        The share of the rows to hold out, spread evenly; 0 for none.
    file : str or None
        A separate file of held-out rows.
    """

    share: Fraction = Fraction(0)
    file: str | None = None

    def holds(self, row: int) -> bool:
        """Return whether a row, numbered from 0, is held out.

        Examples
        --------
        >>> [row for row in range(60) if Holdout(Fraction(1, 20)).holds(row)]
        [19, 39, 59]
        """
        return floor((row + 1) * self.share) > floor(row * self.share)


def parse_holdout(text: str | None) -> Holdout:
    """Parse every:N, share:X or the name of a file."""
    kind, _, figure = (text or "").partition(":")
    if text is None:
        return Holdout()
    try:
        if kind == "every" and int(figure) > 1:
            return Holdout(Fraction(1, int(figure)))
        if kind == "share" and 0 < Fraction(figure) < 1:
            return Holdout(Fraction(figure))
    except (ValueError, ZeroDivisionError):
        pass  # the error below covers this case
    if kind not in ("every", "share") and os.path.exists(text):
        return Holdout(file=text)
    raise ValueError(
        f"--holdout must be every:N with N of at least 2, share:X with X between 0 and 1, or a file, got {text!r}"
    )
