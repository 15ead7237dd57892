"""Shared by several commands: options, sizes, models, output and error messages."""

import errno
import json
import math
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from abound.tagger import Tagger

STANDARD = "-"  # stdin or stdout, as in `abound.data`, which is slow to import

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model directory, or the home of a served model.")
]
JsonOption = Annotated[
    bool | None,
    typer.Option("--json/--table", help="Output format. Default: a table on a terminal, JSON otherwise."),
]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
OWN_OPTIONS = {"delimiter", "format", "id_field", "label_separator", "labels_field", "language", "text_field"}
OWN_OPTIONS |= {"on_error", "vector_field", "weight_field", "wrong_field"}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a full disk, quota or file
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Parse a size such as 300M or 2G, in powers of 1024, and return the bytes.

    Examples
    --------
    >>> parse_size("1.5K")
    1536
    """
    match = _SIZE.fullmatch(text.strip())
    n_bytes = int(float(match[1]) * 1024 ** _POWERS[match[2].lower()]) if match else 0
    if n_bytes < 1:
        raise ValueError(f"a size must be a number with K, M, G or T after it, such as 300M, got {text!r}")
    return n_bytes


def show_size(n_bytes: float) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> show_size(1536)
    '1.5 KiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def load_tagger(path: str) -> "Tagger":
    """Load the model of a directory, or the newest state of the home of a served model."""
    from abound import loading

    return loading.load_tagger(path)


def wants_json(flag: bool | None) -> bool:
    """Return whether to print JSON: the option if given, otherwise whether stdout is not a terminal."""
    return not sys.stdout.isatty() if flag is None else flag


def emit(result: dict[str, Any]) -> None:
    """Print a result as one line of JSON. NaN and infinity become null."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    # A terminal with another encoding may not be able to print a label. Escapes are valid JSON, too.
    print(json.dumps(_without_nan(result), ensure_ascii=encoding != "utf8", allow_nan=False))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def note(text: str) -> None:
    """Print a message on stderr; stdout is for results."""
    print(text, file=sys.stderr, flush=True)


def sentence(error: Exception) -> str:
    """Return the message of an error in one sentence, with command-line options instead of parameters.

    Examples
    --------
    >>> sentence(ValueError("pass format=..., one of csv"))
    'pass --format ..., one of csv'
    """
    from abound.errors import AboundError

    if isinstance(error, MemoryError):
        return "out of memory; set a limit for training with --max-memory"
    if isinstance(error, OSError) and error.errno in FULL:
        what = "the output" if error.filename is None else error.filename
        return f"{what} cannot be written: {error.strerror}; free some space and run the command again"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    words = " ".join(str(error).split())
    if not isinstance(error, AboundError | ValueError | OSError | ImportError):
        return f"unexpected {type(error).__name__}: {words}; --debug shows the traceback"
    return with_option_names(words)


def with_option_names(words: str) -> str:
    """Replace the parameters that a message names by command-line options.

    Examples
    --------
    >>> with_option_names("pass delimiter=';', or labels_field=None, or longest_line=...")
    "pass --delimiter ';', or --labels-field '', or --read longest_line=..."
    """
    from abound.data import FORMATS

    uses = {name: known.use for format_ in FORMATS.values() for name, known in format_.options.items()}

    def option(match: re.Match[str]) -> str:
        name, value = match[1], "''" if match[2] == "None" else match[2]
        if name in OWN_OPTIONS:
            return f"--{name.replace('_', '-')} {value}"
        return f"--{'write' if uses[name] == 'write' else 'read'} {name}={value}" if name in uses else match[0]

    return re.sub(r"\b([a-z_]+)=(None\b|\.\.\.|'[^']*')", option, words)
