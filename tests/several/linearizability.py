"""Check a history of learns and reads at several servers against the journal that they share.

The journal is a log. A learn takes effect when its record is appended, at one moment between its first request and the
answer. The records are in the order of these moments, so the check is to find a moment for each record: in the order
of the sequences, each as early as possible. It is the first request of the record, or the moment of the record before
it if that is later. If this is after the answer, there is no valid choice. Sorting dominates the time.

A read shows the log up to some sequence, which the server reports. Without a minimum it may be old. It must not show a
record before it was requested, must show exactly the records up to its sequence, and must reach its minimum. A process
never reports an earlier sequence than before.
"""

import itertools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Learned(NamedTuple):
    """A learn request with all of its repetitions; without an answer, `answered` and `sequence` are None."""

    key: str
    asked: float  # the first request
    answered: float | None
    sequence: int | None
    process: str = ""  # that answered
    reported: int = 0  # the sequence up to which this process has applied records


class Seen(NamedTuple):
    """The answer of a process that has read: whether it shows the learn of a key, and the sequence that it reports."""

    key: str
    asked: float
    answered: float
    sequence: int
    is_shown: bool
    minimum: int = 0
    process: str = ""


@dataclass
class History:
    """What clients did and saw; the times are of one monotonic clock."""

    learns: list[Learned] = field(default_factory=list)
    reads: list[Seen] = field(default_factory=list)


def violations(history: History, log: list[str | None]) -> list[str]:
    """Return what is wrong with a history; `log` has the keys of the records in order, the first at sequence 1."""
    return [
        *_wrong_records(history, log),
        *_wrong_order(history, log),
        *_wrong_reads(history, log),
        *_backward_processes(history),
    ]


def _wrong_records(history: History, log: list[str | None]) -> list[str]:
    """Compare the acknowledged learns with the records: each is there once, where it was acknowledged."""
    counts = Counter(key for key in log if key is not None)
    found = [f"twice: {key} is recorded {count} times" for key, count in counts.items() if count > 1]
    for learn in history.learns:
        if learn.sequence is None:
            continue
        if not counts[learn.key]:
            found.append(f"lost: {learn.key} was acknowledged at {learn.sequence} and is not recorded")
        elif not 1 <= learn.sequence <= len(log) or log[learn.sequence - 1] != learn.key:
            found.append(f"moved: {learn.key} was acknowledged at {learn.sequence}, which is another record")
    asked = {learn.key for learn in history.learns}
    found += [f"invented: {key} is recorded and was never sent" for key in counts if key not in asked]
    return found


def _moments(history: History, log: list[str | None]) -> list[float]:
    """Return the earliest moment at which the log can have had each number of records, from none to all."""
    asked = {learn.key: learn.asked for learn in history.learns}
    return list(
        itertools.accumulate((asked.get(key, -math.inf) if key else -math.inf for key in log), max, initial=-math.inf)
    )


def _wrong_order(history: History, log: list[str | None]) -> list[str]:
    """Find a moment for each learn, in the order in which they were acknowledged."""
    found, latest, latest_key = [], -math.inf, ""
    sequences = {key: sequence for sequence, key in enumerate(log, 1) if key is not None}
    answered = [
        (sequences.get(learn.key) if learn.sequence is None else learn.sequence, learn) for learn in history.learns
    ]
    numbered = [(sequence, learn) for sequence, learn in answered if sequence is not None]
    for sequence, learn in sorted(numbered, key=lambda one: one[0]):
        if learn.answered is not None and latest > learn.answered:
            found.append(
                f"reordered: {learn.key} was answered at {learn.answered:.3f} with {sequence}, and the earlier record "
                f"{latest_key} was first sent at {latest:.3f}"
            )
        if learn.asked > latest:
            latest, latest_key = learn.asked, learn.key
    return found


def _wrong_reads(history: History, log: list[str | None]) -> list[str]:
    moments = _moments(history, log)
    sequences = {key: sequence for sequence, key in enumerate(log, 1) if key is not None}
    found = []
    for read in history.reads:
        what = f"read of {read.key} by {read.process} at {read.answered:.3f}, sequence {read.sequence}"
        if read.sequence < read.minimum:
            found.append(f"stale: {what}, is before the minimum {read.minimum}")
        if read.sequence > len(log):
            found.append(f"future: {what}, is after the end of the journal, {len(log)}")
        elif moments[read.sequence] > read.answered:
            found.append(f"future: {what}, includes a record that was first sent later")
        sequence = sequences.get(read.key)
        is_included = sequence is not None and sequence <= read.sequence
        if is_included and not read.is_shown:
            found.append(f"hidden: {what}, does not show record {sequence}")
        if read.is_shown and not is_included:
            found.append(f"early: {what}, shows record {sequence}")
    return found


def _backward_processes(history: History) -> list[str]:
    """Compare each read of a process with the answers that the process had given before it was asked."""
    reads: dict[str, list[Seen]] = {}
    answers: dict[str, list[tuple[float, int]]] = {}
    for read in history.reads:
        reads.setdefault(read.process, []).append(read)
        answers.setdefault(read.process, []).append((read.answered, read.sequence))
    for learn in history.learns:
        if learn.answered is not None:
            answers.setdefault(learn.process, []).append((learn.answered, learn.reported))
    return [message for process in sorted(reads) for message in _backward(reads[process], sorted(answers[process]))]


def _backward(reads: list[Seen], answers: list[tuple[float, int]]) -> list[str]:
    found, highest, n_before = [], 0, 0
    for read in sorted(reads, key=lambda one: one.asked):
        while n_before < len(answers) and answers[n_before][0] < read.asked:
            highest = max(highest, answers[n_before][1])
            n_before += 1
        if read.sequence < highest:
            found.append(
                f"backward: {read.process} answered with {read.sequence} at {read.answered:.3f} after it had answered "
                f"with {highest}"
            )
    return found
