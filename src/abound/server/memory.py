"""The memory of this process that belongs to nobody else."""

import ctypes
import sys
from contextlib import suppress
from functools import cache

_ANONYMOUS = b"RssAnon:"


def private_bytes() -> int | None:
    """Return the size of this process's private pages; None if the system does not tell.

    The files of models are mapped. Their pages are shared with the system's cache, which drops them when memory is
    needed. They count only after they were changed.
    """
    with suppress(OSError, ValueError), open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(_ANONYMOUS):
                return int(line[len(_ANONYMOUS) :].split()[0]) << 10
    return None


def return_free_memory() -> None:
    """Give memory that was freed back to the system, where that is possible."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # only GNU's library has it
            _c_library().malloc_trim(0)


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)
