"""Decide whether labels are few or many."""

from typing import Literal

FEW_LABELS = 1000  # at most, by default
TRIAL_ROWS = 5000  # a stream that still has few labels after this many rows is treated as having few


MIN_EXAMPLES = 10  # per label, on average; with fewer, a linear model of many labels has too little to learn from
ALWAYS_FEW = 100  # up to this number of labels, a linear model is used with any number of examples


def has_enough_examples(n_labels: int, n_examples: int) -> bool:
    """Tell whether a linear model of each label has enough to learn from; `n_examples` sums over all labels.

    Votes rank better with five or six examples per label, and a linear model with thirty.

    Examples
    --------
    >>> has_enough_examples(700, 5_000), has_enough_examples(500, 15_000), has_enough_examples(20, 60)
    (False, True, True)
    """
    return n_labels <= ALWAYS_FEW or n_examples >= MIN_EXAMPLES * n_labels


def few_or_many(n_labels: int, n_rows: int, few_labels: int) -> Literal["few", "many", "open"]:
    """Tell whether `n_labels` labels after `n_rows` rows are few or many, or whether that is still open.

    Examples
    --------
    >>> few_or_many(20, 100, few_labels=1000), few_or_many(20, 9000, few_labels=1000)
    ('open', 'few')
    >>> few_or_many(2000, 100, few_labels=1000), few_or_many(0, 9000, few_labels=0)
    ('many', 'many')
    """
    if n_labels > few_labels or few_labels == 0:
        return "many"
    return "few" if n_rows >= TRIAL_ROWS else "open"


def rows_until_decided(n_rows: int) -> int:
    """Return how many more rows, at least one, a stream with few labels learns before it is decided."""
    return max(1, TRIAL_ROWS - n_rows)
