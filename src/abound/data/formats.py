"""What every format has: a name, a table of options, a read and a write.

A line format only says how to parse one line and how to write one record; the loop over the lines, decoding,
line numbers and the report of malformed lines are here, once.
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
# Called with line number, reason, and whether the rest cannot be read either; raises, or returns to skip.
Report = Callable[[int, str, bool], None]

BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 1 << 26


class Malformed(Exception):  # noqa: N818  the adjective says what the line is
    """A line is not what the format wants; becomes a DataError in the reader.

    Parameters
    ----------
    reason : str
        One sentence: what is wrong, and what would be right.
    fatal : bool
        Whether the lines that follow make no sense either, so that the skip policy cannot help.
    """

    def __init__(self, reason: str, fatal: bool = False) -> None:
        super().__init__(reason)
        self.fatal = fatal


class Option(NamedTuple):
    """One option of a format: default, help, what it may be, where it counts."""

    default: Any
    help: str
    kinds: tuple[type, ...] = (str,)
    choices: tuple[str, ...] = ()
    use: Literal["both", "read", "write"] = "both"


LINE_OPTIONS = {"longest_line": Option(LONGEST_LINE, "How many bytes a line may have.", (int,), use="read")}


class Format(ABC, Generic[R]):
    """A file format: how records come out of a byte stream and go into one."""

    name: str
    summary: str
    record: type[R]
    suffixes: tuple[str, ...] = ()
    options: Mapping[str, Option] = {}

    @abstractmethod
    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[R]:
        """Yield the records of a stream; hand malformed ones to `report`."""

    @abstractmethod
    def write(self, stream: BinaryIO, records: Iterable[R], options: Options) -> int:
        """Write the records to a stream and return how many there were."""

    def complete(self, given: Options, use: Literal["read", "write"]) -> dict[str, Any]:
        """Check the options that a caller gave and add the defaults of the others.

        Parameters
        ----------
        given : mapping
            Option names and values.
        use : {"read", "write"}
            What they are for.

        Returns
        -------
        dict
            A value for every option of the format that counts for this use.
        """
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
        listed = f"; it has {', '.join(sorted(known))}" if known else "; it has none"
        return f"format {self.name!r} has no option {name!r} for {use}{listed}"


def _check(format_name: str, name: str, value: object, option: Option) -> None:
    if option.choices and value not in option.choices:
        choices = " or ".join(map(repr, option.choices))
        raise ValueError(f"{name} of format {format_name!r} must be {choices}, got {value!r}")
    # True is an int to isinstance, and never what a caller of n_labels=True meant.
    if not isinstance(value, option.kinds) or isinstance(value, bool):
        kinds = " or ".join("None" if kind is type(None) else kind.__name__ for kind in option.kinds)
        raise TypeError(f"{name} of format {format_name!r} must be {kinds}, got {value!r}")


class LineFormat(Format[R]):
    """A format of one record a line, in UTF-8."""

    options = LINE_OPTIONS
    # A format whose first line is not a record; then a record cannot be mistaken for a byte order mark.
    has_header = False

    @abstractmethod
    def parser(self, options: Options) -> Callable[[str], R | None]:
        """Return the function from a line to a record, or None to pass over it."""

    @abstractmethod
    def formatter(self, options: Options) -> Callable[[R], str]:
        """Return the function from a record to its line, without the line end."""

    def numbered(self, lines: Iterator[bytes], options: Options) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002
        """Yield each record's bytes with the number of its first line."""
        return enumerate(lines, 1)

    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[R]:
        """Yield the records of a stream; hand malformed ones to `report`."""
        return self.parse(stream, report, self.parser(options), options)

    def parse(
        self, stream: BinaryIO, report: Report, parse: Callable[[str], R | None], options: Options
    ) -> Iterator[R]:
        """Yield what `parse` makes of the lines."""
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
                raise Malformed(f"the file is empty; {self.name} wants a header line", fatal=True)
        except Malformed as error:
            report(number + 1, str(error), error.fatal)
        except DAMAGE as error:
            reason = damage(error)
            if reason is None:
                raise
            report(number + 1, reason, True)

    def write(self, stream: BinaryIO, records: Iterable[R], options: Options) -> int:
        """Write the records to a stream and return how many there were."""
        return self.write_with(stream, records, self.formatter(options))

    def write_with(self, stream: BinaryIO, records: Iterable[R], line_of: Callable[[R], str]) -> int:
        """Write what `line_of` makes of the records and return how many there were."""
        count = 0
        for record in records:
            if not isinstance(record, self.record):
                raise TypeError(wrong_record(self, record))
            try:
                data = line_of(record).encode()
            except ValueError as error:
                raise ValueError(f"record {count + 1}: {unencodable(error)}") from error
            if count == 0 and not self.has_header and data.startswith(BOM):
                # Readers take one mark off the front of a file; a text that begins with one needs a second.
                stream.write(BOM)
            stream.write(data)
            stream.write(b"\n")
            count += 1
        return count


def wrong_record(format_: Format[Any], record: object) -> str:
    """Return the sentence for a record of another type than the format's."""
    return f"format {format_.name!r} writes {format_.record.__name__} records, got {type(record).__name__}"


def lines_of(stream: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Return the lines of a stream with their ends; one of more than `longest` bytes is refused, not held."""
    # Lists of lines, for no Python is run between two lines of one.
    return chain.from_iterable(_blocks_of_lines(stream, longest))


def _blocks_of_lines(stream: Any, longest: int) -> Iterator[list[bytes]]:
    begun: list[bytes] = []  # the pieces of a line whose end was not seen yet
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
    """Return the sentence for a line that would fill memory."""
    return f"the line is longer than {longest:,} bytes; allow more with longest_line=..., if it is meant to be"


def without_bom(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Take the byte order mark off the first line."""
    lines = iter(lines)
    first = next(lines, b"")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Malformed("the file is UTF-16; save it as UTF-8", fatal=True)
    first = first.removeprefix(BOM)
    return chain([first], lines) if first else lines


def undecodable(error: UnicodeDecodeError) -> str:
    """Return the sentence for bytes that are not UTF-8."""
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} at position {error.start + 1} is not UTF-8; save the file as UTF-8"


def unencodable(error: ValueError) -> str:
    """Return the sentence for a text that UTF-8 cannot hold, or the error's own."""
    if isinstance(error, UnicodeEncodeError):
        code = ord(error.object[error.start])
        return f"a text contains the lone surrogate U+{code:04X}, which no format here can carry; remove it"
    return str(error)


DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


def damage(error: BaseException) -> str | None:
    """Return the sentence for damaged compressed data, or None for the rest."""
    if isinstance(error, EOFError):
        return "the compressed data ends early; the file was cut short, fetch it again"
    if isinstance(error, OSError) and error.errno is not None:
        return None  # the disk's or the system's own error, not the data's
    return f"the compressed data is damaged ({error}); fetch the file again"
