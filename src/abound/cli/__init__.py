"""The command `abound`: one file a command, everything heavy imported when it is needed."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["main"]

NEEDED = ("typer", "click", "rich")  # what the extra brings


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code: 0, 1 for what went wrong, 2 for wrong usage, 130 for Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; the process's own arguments when not given.
    """
    try:
        _app()(None if arguments is None else list(arguments), prog_name="abound")
    except KeyboardInterrupt:  # typer says the same, but not while it is loaded
        sys.exit(130)


def _app() -> "Typer":
    try:
        from abound.cli.app import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        sys.exit("abound: the command line needs typer and rich: pip install 'abound[cli]'")
    return app
