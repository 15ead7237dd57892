"""Read small text files line by line: names, labels, tables. Errors name the file and the line."""

from collections.abc import Callable

from abound.data.formats import DAMAGE, Malformed, damage, lines_of, undecodable, without_bom
from abound.data.streams import open_input, source_name
from abound.errors import DataError


def each_line(file: str, parse: Callable[[int, str], None]) -> None:
    """Call `parse` with the number and the text of each line, without its end.

    Malformed, undecodable and damaged lines raise DataError.
    """
    number = 0
    try:
        with open_input(file) as (stream, _):
            for number, raw in enumerate(without_bom(lines_of(stream)), 1):
                parse(number, raw.decode().removesuffix("\n").removesuffix("\r"))
    except Malformed as error:
        # A fatal error is raised before the loop sees the line.
        raise DataError(source_name(file), number + error.fatal, str(error)) from None
    except UnicodeDecodeError as error:
        raise DataError(source_name(file), number, undecodable(error)) from None
    except DAMAGE as error:
        reason = damage(error)
        if reason is None:
            raise
        raise DataError(source_name(file), number + 1, reason) from error
