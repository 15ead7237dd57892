"""Decide whether labels are few or many."""

from typing import Literal

TRIAL_ROWS = 5000  # a stream that still has few labels after this many rows is treated as having few


def few_or_many(n_labels: int, n_rows: int, few_labels: int) -> Literal["few", "many", "open"]:
    """Tell whether `n_labels` labels after `n_rows` rows are few or many, or whether that is still open.

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
    """Return how many more rows, at least one, a stream with few labels learns before it is decided."""
    return max(1, TRIAL_ROWS - n_rows)
