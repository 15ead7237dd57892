"""Print warnings of the package as notes on stderr."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from abound.cli.common import note, with_option_names
from abound.errors import AboundWarning, EmptyRanking, LabelsWarning


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings of abound in one line each, without the source location."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", AboundWarning)
        # Commands print their own notes on these, once for all rows.
        warnings.simplefilter("ignore", LabelsWarning)
        warnings.simplefilter("ignore", EmptyRanking)
        plain = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, AboundWarning):
                note(f"abound: {with_option_names(str(message))}")
            else:
                plain(message, category, *rest, **named)

        warnings.showwarning = show
        yield
