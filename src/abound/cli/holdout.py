"""Which rows are held out: a rule on row numbers, so that every command finds the same ones."""

import os
from dataclasses import dataclass
from fractions import Fraction
from math import floor


@dataclass(frozen=True)
class Holdout:
    """Rows that are measured and not learned.

    Attributes
    ----------
    share : Fraction
        How many of the rows; they are spread evenly. 0 holds none out.
    file : str or None
        A file of their own.
    """

    share: Fraction = Fraction(0)
    file: str | None = None

    def holds(self, row: int) -> bool:
        """Tell whether a row, numbered from 0, is held out.

        Examples
        --------
        >>> [row for row in range(60) if Holdout(Fraction(1, 20)).holds(row)]
        [19, 39, 59]
        """
        return floor((row + 1) * self.share) > floor(row * self.share)


def parse_holdout(text: str | None) -> Holdout:
    """Return the rule that every:N, share:X or a file's name stands for."""
    kind, _, figure = (text or "").partition(":")
    if text is None:
        return Holdout()
    try:
        if kind == "every" and int(figure) > 1:
            return Holdout(Fraction(1, int(figure)))
        if kind == "share" and 0 < Fraction(figure) < 1:
            return Holdout(Fraction(figure))
    except (ValueError, ZeroDivisionError):
        pass  # told below, with the rest
    if kind not in ("every", "share") and os.path.exists(text):
        return Holdout(file=text)
    raise ValueError(
        f"--holdout must be every:N with N from 2, share:X with X between 0 and 1, or a file, got {text!r}"
    )
