"""The one place that decides whether labels are few or many."""

from typing import Literal

TRIAL_ROWS = 5000  # a stream with few labels for so long is taken to have few for good


def few_or_many(n_labels: int, n_rows: int, few_labels: int) -> Literal["few", "many", "open"]:
    """Tell whether so many labels of so many rows are few or many, or whether that is still open.

    Examples
    --------
    >>> few_or_many(20, 100, few_labels=1000), few_or_many(20, 9000, few_labels=1000)
    ('open', 'few')
    >>> few_or_many(2000, 100, few_labels=1000)
    'many'
    """
    if n_labels > few_labels:
        return "many"
    return "few" if n_rows >= TRIAL_ROWS else "open"


def rows_until_decided(n_rows: int) -> int:
    """Return how many more rows a stream of few labels learns, at the least one, before they are taken to be few."""
    return max(1, TRIAL_ROWS - n_rows)
