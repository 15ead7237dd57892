"""Describe the machine on which a figure was measured."""

import os
import platform
from pathlib import Path


def machine_line() -> str:
    """Describe processor, cores, memory, system and Python in one line; "1 of 2 cores" if bound to one of two."""
    model, gigabytes = platform.processor() or platform.machine(), 0
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
        gigabytes = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    every = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    cores = f"{every} cores" if usable == every else f"{usable} of {every} cores"
    return f"{model}, {cores}, {gigabytes} GB, {platform.system()}, Python {platform.python_version()}"
