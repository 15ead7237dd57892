"""Forecast how much memory training will take, from its first rows."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SAMPLE_ROWS = 2_000
SAMPLE_SHARE = 0.05  # of the input bytes; a decompressor reads ahead, so a smaller share would cover too few rows
RESERVED = 64 << 20  # for imports of the evaluation, for the current rows, and for saving
WORKING = 2.3  # peak memory of a model while it grows or is pruned, relative to its size


class Point(NamedTuple):
    """The size of a model after a number of rows.

    Memory is allocated in blocks that double, so it grows in steps on few rows. The number of terms and edges grows
    smoothly and shows the trend.
    """

    rows: int
    n_entries: int
    n_bytes: int


def growth_exponent(points: Sequence[Point]) -> float:
    """Return b such that terms and edges grow like rows ** b, from about half of the rows seen to all of them.

    New words and new pairs of word and label become rarer, so b is below 1 and keeps falling. The forecast is
    therefore too high rather than too low.

    Examples
    --------
    >>> growth_exponent([Point(1000, 40, 400), Point(4000, 80, 800)])
    0.5
    """
    last = points[-1]
    earlier = [point for point in points[:-1] if 0 < point.rows < last.rows and point.n_entries > 0]
    if not earlier:
        return 1.0
    first = min(earlier, key=lambda point: abs(point.rows - last.rows / 2))
    slope = math.log(last.n_entries / first.n_entries) / math.log(last.rows / first.rows)
    return min(max(slope, 0.0), 1.0)


def forecast(points: Sequence[Point], rows: int) -> int:
    """Return the bytes expected after a number of rows.

    Examples
    --------
    >>> forecast([Point(1000, 40, 400), Point(4000, 80, 800)], 16_000)
    1600
    """
    last = points[-1]
    growth: float = (rows / last.rows) ** growth_exponent(points)
    return round(last.n_bytes * growth)


def resident_bytes() -> int:
    """Return the memory that this process takes now, or an estimate if the system does not report it."""
    try:
        status = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024
    except (OSError, StopIteration):
        return 64 << 20


def model_budget(limit: int) -> int:
    """Return how many bytes a model may take so that the whole process stays within the limit."""
    own = resident_bytes() + RESERVED
    if limit <= own + (1 << 20):
        raise ValueError(f"--max-memory must be more than the {own >> 20} MiB that abound takes without a model")
    return int((limit - own) / WORKING)


def available_memory() -> int | None:
    """Return the bytes that this process may still take, or None if the system does not report it."""
    free: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free.append(int(line.split()[1]) * 1024)
        # A container is killed at its own limit, even if the machine has more memory.
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            free.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError, IndexError):
        pass
    if not free and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        free.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(free, default=None)
