"""Metrics of a model on rows that `abound fit --holdout` left out, as the manifest stores them."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from abound.errors import DamagedModel
from abound.store.model import MAX_COUNTED

MOST = 20  # metrics
LONGEST = 20  # characters of a metric's name


class HeldOut(NamedTuple):
    """What was measured when the model was fitted.

    Attributes
    ----------
    rows : int
        Labelled rows that were measured, and not learned.
    learned : int
        Rows that the model had learned then.
    measures : dict
        Value, low and high end of the 95% interval, by the name of the metric.
    """

    rows: int
    learned: int
    measures: dict[str, tuple[float, float, float]]

    @classmethod
    def of(cls, figures: Mapping[str, Any], learned: int) -> Self:
        """Return the figures that the command line prints, for a manifest."""
        measures = {name: (one["value"], one["low"], one["high"]) for name, one in figures["measures"].items()}
        return cls(figures["labelled"], learned, measures)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types."""
        measures = {name: list(values) for name, values in self.measures.items()}
        return {"rows": self.rows, "learned": self.learned, "measures": measures}


def check_held_out(given: Any) -> HeldOut | None:
    """Return the figures of a manifest, None if it has none; raise DamagedModel for anything else."""
    if given is None:
        return None
    try:
        rows, learned, measures = given["rows"], given["learned"], given["measures"]
        fits = all(type(n) is int and 0 <= n <= MAX_COUNTED for n in (rows, learned)) and 1 <= len(measures) <= MOST
        checked = {name: (value, low, high) for name, (value, low, high) in measures.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        fits, checked = False, {}
    numbers = [number for values in checked.values() for number in values]
    fits = fits and all(type(number) in (int, float) and math.isfinite(number) for number in numbers)
    if not fits or any(len(name) > LONGEST or not name.isprintable() for name in checked):
        raise DamagedModel("the held-out figures of the model must be rows, learned rows and finite measures")
    return HeldOut(rows, learned, checked)
