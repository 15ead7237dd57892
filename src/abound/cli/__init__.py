"""The command `abound`: one file per command. Heavy modules are imported when they are needed."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abound.errors import pip_install

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["main"]

NEEDED = ("typer", "click", "rich")  # packages of the extra


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 for success, 1 for an error, 2 for wrong usage, 130 for Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after the command's name; those of the process by default.
    """
    try:
        _app()(None if arguments is None else list(arguments), prog_name="abound")
    except KeyboardInterrupt:  # typer does the same, but not while it is being imported
        sys.exit(130)


def _app() -> "Typer":
    try:
        from abound.cli.app import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        sys.exit(f"abound: the command line needs typer and rich: {pip_install('cli')}")
    return app
