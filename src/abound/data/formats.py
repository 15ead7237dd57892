"""The base of all formats: a name, options, and methods to read and write.

A line format only defines how to parse one line and how to format one record. The loop over the lines, decoding, line
numbers and the report of malformed lines are shared and are defined here.
"""

import difflib
import io
import lzma
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO, Generic, Literal, NamedTuple, TypeVar

from abound.data.records import Record
from abound.data.streams import READ_BYTES

R = TypeVar("R", bound=Record)
Options = Mapping[str, Any]
# Called with line number, reason, and whether the rest is unreadable, too. It raises an error, or returns to skip.
Report = Callable[[int, str, bool], None]

BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 1 << 26


class Malformed(Exception):  # noqa: N818  a clear name without Error
    """A line is invalid in its format; the reader turns it into a DataError.

    Parameters
    ----------
    reason : str
        One sentence: what is wrong and what would be right.
    fatal : bool
        Whether the lines after it are unreadable, too, so that it cannot be skipped.
    """

    def __init__(self, reason: str, fatal: bool = False) -> None:
        super().__init__(reason)
        self.fatal = fatal


class Option(NamedTuple):
    """One option of a format: default, help, types, choices, and whether it applies to reading or writing."""

    default: Any
    help: str
    kinds: tuple[type, ...] = (str,)
    choices: tuple[str, ...] = ()
    use: Literal["both", "read", "write"] = "both"


LINE_OPTIONS = {"longest_line": Option(LONGEST_LINE, "Maximum number of bytes per line.", (int,), use="read")}


class Format(ABC, Generic[R]):
    """A file format: how to read records from a byte stream and write them to one."""

    name: str
    summary: str
    record: type[R]
    suffixes: tuple[str, ...] = ()
    options: Mapping[str, Option] = {}
    can_write = True

    @abstractmethod
    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[R]:
        """Yield the records of a stream. Pass malformed ones to `report`."""

    @abstractmethod
    def write(self, stream: BinaryIO, records: Iterable[R], options: Options) -> int:
        """Write records to a stream and return their number."""

    def complete(self, given: Options, use: Literal["read", "write"]) -> dict[str, Any]:
        """Validate options and add the defaults of the others.

        Parameters
        ----------
        given : mapping
            Option names and values.
        use : {"read", "write"}
            The purpose of the options.

        Returns
        -------
        dict
            A value for each option of the format that applies to this use.
        """
        if use == "write" and not self.can_write:
            raise ValueError(f"{self.name} can be read, but not written; write another format, such as jsonl")
        known = {name: option for name, option in self.options.items() if option.use in ("both", use)}
        for name, value in given.items():
            if name not in known:
                raise ValueError(self._unknown(name, known, use))
            _check(self.name, name, value, known[name])
        return {name: given.get(name, option.default) for name, option in known.items()}

    def _unknown(self, name: str, known: Mapping[str, Option], use: str) -> str:
        near = difflib.get_close_matches(name, known, n=1)
        if near:
            return f"format {self.name!r} has no option {name!r} for {use}; did you mean {near[0]!r}?"
        options = f"its options: {', '.join(sorted(known))}" if known else "it has none"
        return f"format {self.name!r} has no option {name!r} for {use}; {options}"


def _check(format_name: str, name: str, value: object, option: Option) -> None:
    if option.choices and value not in option.choices:
        choices = " or ".join(map(repr, option.choices))
        raise ValueError(f"{name} of format {format_name!r} must be {choices}, got {value!r}")
    # isinstance takes True for an int, but n_labels=True is never intended.
    if not isinstance(value, option.kinds) or isinstance(value, bool):
        kinds = " or ".join("None" if kind is type(None) else kind.__name__ for kind in option.kinds)
        raise TypeError(f"{name} of format {format_name!r} must be {kinds}, got {value!r}")


class LineFormat(Format[R]):
    """A format with one record per line, in UTF-8."""

    options = LINE_OPTIONS
    # Whether the first line is a header. Then the first record cannot be mistaken for a byte order mark.
    has_header = False

    @abstractmethod
    def parser(self, options: Options) -> Callable[[str], R | None]:
        """Return a function that parses a line into a record, or into None to ignore the line."""

    @abstractmethod
    def formatter(self, options: Options) -> Callable[[R], str]:
        """Return a function that formats a record as a line, without the line end."""

    def numbered(self, lines: Iterator[bytes], options: Options) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002
        """Yield the bytes of each record with the number of its first line."""
        return enumerate(lines, 1)

    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[R]:
        """Yield the records of a stream. Pass malformed ones to `report`."""
        return self.parse(stream, report, self.parser(options), options)

    def parse(
        self, stream: BinaryIO, report: Report, parse: Callable[[str], R | None], options: Options
    ) -> Iterator[R]:
        """Yield the records that `parse` returns for the lines."""
        number = 0
        try:
            for number, raw in self.numbered(without_bom(lines_of(stream, options["longest_line"])), options):
                try:
                    record = parse(raw.decode().removesuffix("\n").removesuffix("\r"))
                except Malformed as error:
                    report(number, str(error), error.fatal)
                except UnicodeDecodeError as error:
                    report(number, undecodable(error), False)
                else:
                    if record is not None:
                        yield record
            if self.has_header and not number:
                raise Malformed(f"the file is empty; {self.name} needs a header line", fatal=True)
        except Malformed as error:
            report(number + 1, str(error), error.fatal)
        except DAMAGE as error:
            reason = damage(error)
            if reason is None:
                raise
            report(number + 1, reason, True)

    def write(self, stream: BinaryIO, records: Iterable[R], options: Options) -> int:
        """Write records to a stream and return their number."""
        return self.write_with(stream, records, self.formatter(options))

    def write_with(self, stream: BinaryIO, records: Iterable[R], line_of: Callable[[R], str]) -> int:
        """Write the lines that `line_of` returns for the records, and return their number."""
        count = 0
        for record in records:
            if not isinstance(record, self.record):
                raise TypeError(wrong_record(self, record))
            try:
                data = line_of(record).encode()
            except ValueError as error:
                raise ValueError(f"record {count + 1}: {unencodable(error)}") from error
            if count == 0 and not self.has_header and data.startswith(BOM):
                # Readers remove one mark from the start of a file, so a text that starts with one needs a second.
                stream.write(BOM)
            stream.write(data)
            stream.write(b"\n")
            count += 1
        return count


def wrong_record(format_: Format[Any], record: object) -> str:
    """Return the message for a record of the wrong type."""
    return f"format {format_.name!r} writes {format_.record.__name__} records, got {type(record).__name__}"


def lines_of(stream: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Return the lines of a stream with their ends. Raise an error for a line of more than `longest` bytes.

    At most about `longest` bytes of a line are held in memory.
    """
    # Lists of lines, because no Python code runs between two lines of a list.
    return chain.from_iterable(_blocks_of_lines(stream, longest))


def _blocks_of_lines(stream: Any, longest: int) -> Iterator[list[bytes]]:
    begun: list[bytes] = []  # the pieces of an unfinished line
    size = 0
    while block := stream.read1(READ_BYTES):
        size += len(block)
        begun.append(block)
        if b"\n" in block:
            lines = io.BytesIO(b"".join(begun)).readlines()
            begun = [] if lines[-1].endswith(b"\n") else [lines.pop()]
            if size > longest:
                yield from _as_far_as(lines, longest)
            else:
                yield lines
            size = len(begun[0]) if begun else 0
        if size > longest:
            raise Malformed(too_long(longest), fatal=True)
    if begun:
        yield [b"".join(begun)]


def _as_far_as(lines: list[bytes], longest: int) -> Iterator[list[bytes]]:
    for at, line in enumerate(lines):
        if len(line) > longest:
            yield lines[:at]
            raise Malformed(too_long(longest), fatal=True)
    yield lines


def too_long(longest: int) -> str:
    """Return the message for a line that is too long."""
    return f"the line is longer than {longest:,} bytes; if that is intended, raise the limit with longest_line=..."


def without_bom(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Remove the byte order mark from the first line."""
    lines = iter(lines)
    first = next(lines, b"")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Malformed("the file is UTF-16; save it as UTF-8", fatal=True)
    first = first.removeprefix(BOM)
    return chain([first], lines) if first else lines


def undecodable(error: UnicodeDecodeError) -> str:
    """Return the message for bytes that are not UTF-8."""
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} at position {error.start + 1} is not UTF-8; save the file as UTF-8"


def unencodable(error: ValueError) -> str:
    """Return the message for a text that UTF-8 cannot encode, or that of the error."""
    if isinstance(error, UnicodeEncodeError):
        code = ord(error.object[error.start])
        return f"a text contains the lone surrogate U+{code:04X}, which UTF-8 cannot encode; remove it"
    return str(error)


DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


def damage(error: BaseException) -> str | None:
    """Return the message for damaged compressed data, or None for other errors."""
    if isinstance(error, EOFError):
        return "the compressed data ends early, so the file is truncated; download it again"
    if isinstance(error, OSError) and error.errno is not None:
        return None  # an error of the disk or the system
    return f"the compressed data is damaged ({error}); download the file again"
