"""The records of a journal: corrections, label edits, band feedback, and changes of earlier records.

They are written as canonical JSON.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from abound.errors import RefusedRecord
from abound.store.names import Name
from abound.texts import Text, check_text

MAX_BYTES = 1 << 20  # of a record
MAX_LABELS = 10_000  # of one list in a record
MAX_REASON = 1000  # characters


@dataclass(frozen=True, slots=True)
class Learn:
    """A correction: a text and a person's decisions on its labels.

    Attributes
    ----------
    text : str or mapping from field to str
    accepted : tuple of names
        Labels that were suggested and are right.
    rejected : tuple of names
        Labels that were suggested and are wrong.
    added : tuple of names
        Labels that are right and were not suggested.
    """

    kind: ClassVar[str] = "learn"
    text: Text
    accepted: tuple[Name, ...] = ()
    rejected: tuple[Name, ...] = ()
    added: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _text(self.text))
        for field in ("accepted", "rejected", "added"):
            object.__setattr__(self, field, _labels(field, getattr(self, field)))
        right = {*self.accepted, *self.added}
        if not right and not self.rejected:
            raise RefusedRecord("a text must have at least one label that is right or wrong for it")
        for label in self.rejected:
            if label in right:
                raise RefusedRecord(f"label {label!r} is given as both right and wrong for the same text")


@dataclass(frozen=True, slots=True)
class AddLabel:
    """Add a label before its first text; `names` are its names for people, the preferred one first."""

    kind: ClassVar[str] = "add label"
    label: Name
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _label("label", self.label)
        object.__setattr__(self, "names", _labels("names", self.names))
        if not all(isinstance(name, str) for name in self.names):
            raise RefusedRecord(f"the names of label {self.label!r} must be strings")


@dataclass(frozen=True, slots=True)
class RenameLabel:
    """Rename a label; the old name stays valid as an alias."""

    kind: ClassVar[str] = "rename label"
    label: Name
    to: Name

    def __post_init__(self) -> None:
        _label("label", self.label)
        _label("to", self.to)


@dataclass(frozen=True, slots=True)
class MergeLabels:
    """Merge a label into another one, whose name is then used for both."""

    kind: ClassVar[str] = "merge labels"
    label: Name
    into: Name

    def __post_init__(self) -> None:
        _label("label", self.label)
        _label("into", self.into)


@dataclass(frozen=True, slots=True)
class RetireLabel:
    """Retire a label: it is neither ranked nor learned until it is added again."""

    kind: ClassVar[str] = "retire label"
    label: Name

    def __post_init__(self) -> None:
        _label("label", self.label)


@dataclass(frozen=True, slots=True)
class BandFeedback:
    """The band in which a label was shown, such as "suggest", its score, and the band in which it belongs.

    Attributes
    ----------
    label : name
    score : float
    shown, wanted : str
        Bands; a label that belongs in "hide" is wrong.
    text : str or mapping from field to str, optional
        The text that it was shown for. Without it, the feedback is only counted.
    """

    kind: ClassVar[str] = "band"
    label: Name
    score: float
    shown: str
    wanted: str
    text: Text | None = None

    def __post_init__(self) -> None:
        _label("label", self.label)
        if isinstance(self.score, bool) or not isinstance(self.score, int | float) or not math.isfinite(self.score):
            raise RefusedRecord(f"a score must be a finite number, got {self.score!r}")
        object.__setattr__(self, "score", float(self.score))
        for field in ("shown", "wanted"):
            value = getattr(self, field)
            if not isinstance(value, str) or not 1 <= len(value) <= 100:
                raise RefusedRecord(f"{field} must be the name of a band, of 1 to 100 characters, got {value!r}")
        if self.text is not None:
            object.__setattr__(self, "text", _text(self.text))


@dataclass(frozen=True, slots=True)
class Undo:
    """Exclude earlier records: the state is that of the journal without them.

    Attributes
    ----------
    records : tuple of int
        Their sequences. If one of them is an undo, the records that it had excluded count again.
    reason : str
    """

    kind: ClassVar[str] = "undo"
    records: tuple[int, ...]
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _sequences(self.records))
        object.__setattr__(self, "reason", _reason(self.reason))


@dataclass(frozen=True, slots=True)
class Forget:
    """The receipt of records whose content was removed for ever.

    Attributes
    ----------
    records : tuple of int
        Their sequences.
    before, after : str
        Hashes of the state with and without them.
    reason : str
        It must not contain what was forgotten.
    """

    kind: ClassVar[str] = "forget"
    records: tuple[int, ...]
    before: str = ""
    after: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _sequences(self.records))
        object.__setattr__(self, "reason", _reason(self.reason))
        for name in ("before", "after"):
            if not isinstance(getattr(self, name), str):
                raise RefusedRecord(f"{name} must be the hash of a state, got {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Refit:
    """Replay all records on another model; undoing this record returns to the model before.

    Attributes
    ----------
    base : str
        The name of the model in the home's directory `bases`.
    reason : str
    """

    kind: ClassVar[str] = "refit"
    base: str
    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.base, str) or not _BASE_NAME.fullmatch(self.base):
            raise RefusedRecord(f"base must be the name of a model, of 1 to 64 letters and digits, got {self.base!r}")
        object.__setattr__(self, "reason", _reason(self.reason))


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Stands for a record whose content was removed; it is never written."""

    kind: ClassVar[str] = "forgotten"


LabelEdit: TypeAlias = AddLabel | RenameLabel | MergeLabels | RetireLabel
Control: TypeAlias = Undo | Forget | Refit
Record: TypeAlias = Learn | LabelEdit | BandFeedback | Control | Forgotten
LABEL_EDITS = (AddLabel, RenameLabel, MergeLabels, RetireLabel)
CONTROLS = (Undo, Forget, Refit)  # records about other records
KINDS: dict[str, type[Record]] = {cls.kind: cls for cls in (Learn, *LABEL_EDITS, BandFeedback, *CONTROLS)}
_BASE_NAME = re.compile(r"[0-9a-z]{1,64}")
_FIELDS = {kind: tuple(field.name for field in fields(cls)) for kind, cls in KINDS.items()} | {Forgotten.kind: ()}
_CONTROL_MARKERS = [f'"kind":"{cls.kind}"'.encode() for cls in CONTROLS]
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _text(text: Any) -> Text:
    """Return a text, its fields in the order in which they are stored, so that a replay sees the same text."""
    try:
        check_text(text)
    except TypeError as error:
        raise RefusedRecord(str(error)) from None
    return text if isinstance(text, str) else dict(sorted(text.items()))


def _label(field: str, label: Any) -> Name:
    if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
        raise RefusedRecord(f"{field} must be a string or a finite number, got {label!r}")
    return label


def _labels(field: str, labels: Iterable[Any]) -> tuple[Name, ...]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise RefusedRecord(f"{field} must be a list of labels, got {labels!r}")
    names = tuple(labels)
    if len(names) > MAX_LABELS:
        raise RefusedRecord(f"{field} must have at most {MAX_LABELS:,} labels, got {len(names):,}")
    return tuple(_label(f"each of {field}", label) for label in names)


def _sequences(records: Any) -> tuple[int, ...]:
    numbers = tuple(records) if isinstance(records, Iterable) and not isinstance(records, str) else ()
    if not numbers or not all(type(number) is int and 0 < number < 1 << 62 for number in numbers):
        raise RefusedRecord(f"records must be a list of the numbers of records, got {records!r}")
    return tuple(sorted(set(numbers)))


def _reason(reason: Any) -> str:
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise RefusedRecord(f"a reason must be a string of at most {MAX_REASON:,} characters")
    return reason


def encode_record(record: Record) -> bytes:
    """Return a record's bytes; equal records have equal bytes.

    Examples
    --------
    >>> encode_record(RetireLabel("fish"))
    b'{"kind":"retire label","label":"fish"}'
    """
    raw = _ENCODER.encode(describe(record)).encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        raise RefusedRecord(f"a record must have at most {MAX_BYTES:,} bytes, got {len(raw):,}")
    return raw


def decode_record(raw: bytes) -> Record:
    """Decode the output of `encode_record`; raise ValueError for other bytes.

    Examples
    --------
    >>> decode_record(b'{"kind":"retire label","label":"fish"}')
    RetireLabel(label='fish')
    """
    try:
        content = json.loads(raw.decode("utf-8", "surrogatepass"))
        kind = KINDS[content.pop("kind")]
        return kind(**content)
    except (KeyError, TypeError, AttributeError, RecursionError, RefusedRecord) as error:
        raise ValueError(f"the record cannot be read: {error}") from None


def control_of(raw: bytes) -> Control | None:
    """Return the record of an encoded record that is about other records, None for others.

    Examples
    --------
    >>> control_of(encode_record(Undo([3])))
    Undo(records=(3,), reason='')
    """
    if not any(marker in raw for marker in _CONTROL_MARKERS):  # which may also be in a text, as the name of a field
        return None
    record = decode_record(raw)
    return record if isinstance(record, CONTROLS) else None


def describe(record: Record) -> dict[str, Any]:
    """Return a record as JSON types, its kind first; what was not given is left out."""
    given = {name: getattr(record, name) for name in _FIELDS[record.kind]}
    return {"kind": record.kind, **{name: value for name, value in given.items() if value is not None}}
