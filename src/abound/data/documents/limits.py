"""Limits for extracting the text of one document."""

from typing import NamedTuple


class Limits(NamedTuple):
    """What one document may cost.

    Attributes
    ----------
    n_bytes : int
        Bytes of the file.
    unpacked : int
        Bytes of the XML in a Word document, which is compressed.
    characters : int
        Characters of the text; the rest is cut off.
    seconds : float
        Time to extract the text.
    memory : int
        Bytes of memory of the process that extracts it.
    """

    n_bytes: int
    unpacked: int
    characters: int
    seconds: float
    memory: int


# For files that the user of a command chose. A server, which reads the files of others, has stricter ones.
COMMAND_LIMITS = Limits(n_bytes=1 << 28, unpacked=1 << 30, characters=50_000_000, seconds=120.0, memory=4 << 30)
