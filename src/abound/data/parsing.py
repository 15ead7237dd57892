"""Parse and format numbers, features and labels: reading is strict, writing is exact."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from operator import methodcaller

from abound.data.formats import Malformed
from abound.data.records import Row

# Feature numbers are stored in int64 arrays.
MAX_INDEX = 2**63 - 1

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPLIT = methodcaller("split", ":")

# Bodies of character classes: where str.split splits, and where the C programs of these formats split.
WHITESPACE = r"\s"
ASCII_SPACE = r" \t\n\r\v\f"
_NAMES = {
    "\0": "a zero byte",
    "\t": "a tab",
    "\n": "a line break",
    "\r": "a carriage return",
    " ": "a space",
    ",": "a comma",
    ":": "a colon",
    "|": "a bar",
    "#": "a hash sign",
}


def shown(text: object) -> str:
    """Quote `text` for a message, and shorten it if it is long."""
    quoted = repr(text)
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}...{quoted[-1]}"


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun, such as '2 columns'."""
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def parse_int(text: str, what: str) -> int:
    """Parse a whole number; `what` names it in the error message."""
    if not _WHOLE.fullmatch(text):
        limit = " of at most 18 digits" if text.isascii() and text.isdigit() else ""
        raise Malformed(f"{what} must be a whole number{limit}, got {shown(text)}")
    return int(text)


def parse_float(text: str, what: str) -> float:
    """Parse a finite number; `what` names it in the error message."""
    number = float(text) if _REAL.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise Malformed(f"{what} must be a finite number, got {shown(text)}")
    return number


def labels_of(text: str, separator: str) -> tuple[str, ...]:
    """Split the labels of a line. An empty text has no labels."""
    if not text:
        return ()
    labels = tuple(text.split(separator))
    if "" in labels:
        raise Malformed(f"empty label in {shown(text)}; put one {separator!r} between two labels")
    return labels


def features_of(tokens: Sequence[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the feature numbers and the values of 'number:value' tokens."""
    if not tokens:
        return (), ()
    try:
        names, numbers = zip(*map(_SPLIT, tokens), strict=True)
        indices = tuple(map(int, names))
        values = tuple(map(float, numbers))
    except ValueError:
        return _features_one_by_one(tokens)
    # int and float accept '1_0' and digits of other scripts, unlike other readers of these files. sum detects NaN and
    # infinity in one pass; the slow path handles a sum that overflows.
    joined = "".join(tokens)
    if "_" in joined or not joined.isascii() or not math.isfinite(sum(values)):
        return _features_one_by_one(tokens)
    if min(indices) < 0 or max(indices) > MAX_INDEX:
        return _features_one_by_one(tokens)
    return indices, values


def _features_one_by_one(tokens: Iterable[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    indices, values = [], []
    for token in tokens:
        name, colon, number = token.partition(":")
        if not colon or not name or not number or ":" in number:
            raise Malformed(f"feature {shown(token)} must be 'number:value', such as '3:0.5'")
        index = parse_int(name, f"the number of feature {shown(token)}")
        if index < 0:
            raise Malformed(f"the number of feature {shown(token)} must not be negative")
        indices.append(index)
        values.append(parse_float(number, f"the value of feature {shown(token)}"))
    return tuple(indices), tuple(values)


def number_text(value: float) -> str:
    """Return the shortest text that reads back as `value`."""
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"the value {value} is not finite, which the format cannot represent")
    return repr(value).removesuffix(".0")


def feature_texts(row: Row) -> list[str]:
    """Return a row's features as 'number:value' tokens."""
    if len(row.indices) != len(row.values):
        raise ValueError(f"the row has {len(row.indices)} indices and {len(row.values)} values")
    if any(not 0 <= index <= MAX_INDEX for index in row.indices):
        raise ValueError(f"feature numbers must be between 0 and {MAX_INDEX}")
    pairs = zip(row.indices, row.values, strict=True)
    return [f"{int(index)}:{number_text(value)}" for index, value in pairs]


class Guard:
    """Reject texts that a format cannot represent.

    Parameters
    ----------
    format_name : str
        The name of the format, for the message.
    what : str
        The kind of text, such as "label".
    forbidden : str
        Body of a regular expression's character class.
    instead : str
        The advice in the message.
    empty : bool
        Whether the text may be empty.
    """

    def __init__(
        self,
        format_name: str,
        what: str,
        forbidden: str,
        instead: str = "write jsonl instead",
        empty: bool = False,
    ) -> None:
        self._format_name = format_name
        self._what = what
        self._instead = instead
        self._empty = empty
        self._search = re.compile(f"[{forbidden}]").search

    def __call__(self, text: str) -> str:
        """Return `text`, or raise ValueError if the format cannot represent it."""
        if not isinstance(text, str):
            raise ValueError(f"the {self._what} {text!r} must be str, got {type(text).__name__}")
        match = self._search(text)
        if match:
            raise ValueError(
                f"the {self._what} {shown(text)} contains {character(match[0])}, "
                f"which {self._format_name} cannot represent; {self._instead}"
            )
        if not text and not self._empty:
            raise ValueError(f"a {self._what} is empty, which {self._format_name} cannot represent; leave it out")
        return text


def character(char: str) -> str:
    """Describe a character for a message."""
    code = f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
    return f"{_NAMES[char]} ({char!r})" if char in _NAMES else f"{char!r} ({code})"


def reject_fields(format_name: str, row: Row, *fields: str) -> None:
    """Raise an error if a row has a value in one of the fields, which the format does not support."""
    for field in fields:
        if getattr(row, field) is not None:
            raise ValueError(
                f"the row has {field} {shown(getattr(row, field))}, which {format_name} does not support; "
                f"drop it with row._replace({field}=None)"
            )
