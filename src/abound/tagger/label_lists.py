"""Detect lists of labels that were read as single labels, such as "slang; colloquial"."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from abound.errors import LabelsWarning

SAMPLED_ROWS = 5_000  # labelled rows: enough to decide, and early enough to stop a long training
LIKELY = (";", "|", "\t", ",")
MIN_SHARE = 0.1  # of the rows must have a label with the separator in it
MIN_RECURRING = 0.3  # of the parts must also be parts of other labels, or whole labels
MIN_MIXED = 0.3  # of the recurring parts of labels with commas must occur both first and later


class Joined(NamedTuple):
    """A character that seems to separate labels within labels, the share of rows with it, and an example."""

    separator: str
    share: float
    example: str

    def __str__(self) -> str:
        return f"{self.share:.0%} of the rows have a label with {self.separator!r} in it, such as {self.example!r}"


class LabelWatch:
    """Examine the labels of the first rows as they arrive."""

    def __init__(self) -> None:
        self.rows = 0
        self.labelled = 0
        self._sample: list[tuple[str, ...]] = []

    def see(self, labels: Iterable[Any]) -> None:
        """Add the labels of one row."""
        self.rows += 1
        if labels:
            self.labelled += 1
            if self.labelled <= SAMPLED_ROWS:
                self._sample.append(tuple(label for label in labels if isinstance(label, str)))

    def joined(self) -> Joined | None:
        """Return the character that seems to separate labels within the labels seen so far, or None."""
        candidates = (_joined(self._sample, separator) for separator in LIKELY)
        return next((joined for joined in candidates if joined is not None), None)


def warn_of_labels(labels: Sequence[Sequence[Any]]) -> None:
    """Warn if no text has a label, or if labels seem to be lists."""
    watch = LabelWatch()
    for names in labels:
        watch.see(names)
    if watch.rows and not watch.labelled:
        words = f"none of the {watch.rows:,} texts has a label, so there is nothing to rank"
        warnings.warn(words, LabelsWarning, stacklevel=3)
    elif (joined := watch.joined()) is not None:
        parts = [part.strip() for part in joined.example.split(joined.separator)]
        words = f"{joined}, and its parts recur; if they are separate labels, give them as a list: {parts!r}"
        warnings.warn(words, LabelsWarning, stacklevel=3)


def _joined(rows: Sequence[tuple[str, ...]], separator: str) -> Joined | None:
    """Return whether a character separates labels: it is frequent, and the parts between occur in other labels.

    Names contain commas, too: "Smith, John", "Paris, France". Their parts keep their position, and rows with several
    labels are already split. So a comma counts only if parts occur first in one label and later in another.
    """
    with_it = [label for row in rows for label in row if separator in label]
    n_rows = sum(any(separator in label for label in row) for row in rows)
    if n_rows < 2 or n_rows < MIN_SHARE * len(rows):
        return None
    firsts: Counter[str] = Counter()
    laters: Counter[str] = Counter()
    for label in {label for row in rows for label in row}:
        first, *later = [part.strip() for part in label.split(separator) if part.strip()] or [label]
        firsts[first] += 1
        laters.update(later)
    parts = [part.strip() for label in set(with_it) for part in label.split(separator) if part.strip()]
    recurring = [part for part in parts if firsts[part] + laters[part] > 1]
    if not parts or len(recurring) < MIN_RECURRING * len(parts):
        return None
    if separator == ",":
        mixed = sum(firsts[part] > 0 and laters[part] > 0 for part in recurring)
        single = sum(len(row) == 1 for row in rows)
        if mixed < MIN_MIXED * len(recurring) or single < 0.9 * len(rows):
            return None
    return Joined(separator, n_rows / len(rows), with_it[0])
