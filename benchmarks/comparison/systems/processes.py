"""Read the resources used by a process and its descendants from /proc."""

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def _fields(pid):
    """Return the fields after the command in /proc/PID/stat: state, parent and so on; None once it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def family(pid):
    """Return the fields of a process and of its descendants, by process id."""
    fields = {int(entry): _fields(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    living = {number: found for number, found in fields.items() if found}
    members, grown = {pid} & living.keys(), True
    while grown:
        more = {number for number, found in living.items() if int(found[1]) in members} - members
        members, grown = members | more, bool(more)
    return {number: living[number] for number in members}


def cpu_seconds():
    """Return the core-seconds that this process and its descendants have used so far."""
    own, ticks = os.getpid(), 0
    for number, fields in family(own).items():
        # The time of this process has a higher resolution; the time of ended children is recorded with their parents.
        ticks += sum(map(int, fields[13:15])) if number == own else sum(map(int, fields[11:15]))
    return time.process_time() + ticks / TICKS


def cpu_seconds_of(pid):
    """Return the core-seconds that another process and its descendants have used so far."""
    return sum(sum(map(int, fields[11:15])) for fields in family(pid).values()) / TICKS


def resident_bytes(pid):
    """Return the current memory of a process and its descendants."""
    return sum(int(fields[21]) * PAGE for fields in family(pid).values())


def peak_megabytes():
    """Return the sum of the peak memory of this process and of its living descendants.

    getrusage may report the peak of the parent process.
    """
    total = 0
    for number in family(os.getpid()):
        try:
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return total / 1024


def ended_seconds():
    """Return the core-seconds that ended children of this process have used so far, with their own children."""
    times = os.times()
    return times.children_user + times.children_system
