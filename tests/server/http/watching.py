"""What a process takes of the machine, as /proc says."""

import os
from pathlib import Path

import numpy as np


def resident(pid):
    """Return the bytes of memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    """Return how many files and sockets a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def slope(xs, ys):
    """Return by how much y grows for each x, by least squares."""
    return float(np.polyfit(xs, ys, 1)[0])
