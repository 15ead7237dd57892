"""What a journal holds: what people taught, one record each, as canonical JSON."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from abound.errors import RefusedRecord
from abound.store.names import Name

MAX_BYTES = 1 << 20  # a record
MAX_LABELS = 10_000  # of one list in a record


@dataclass(frozen=True, slots=True)
class Learn:
    """A text and what a person said of its labels.

    Attributes
    ----------
    text : str
    accepted : tuple of names
        Labels that were proposed, and are right.
    rejected : tuple of names
        Labels that were proposed, and are wrong.
    added : tuple of names
        Labels that are right and were not proposed.
    """

    kind: ClassVar[str] = "learn"
    text: str
    accepted: tuple[Name, ...] = ()
    rejected: tuple[Name, ...] = ()
    added: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise RefusedRecord(f"a text must be a string, got {type(self.text).__name__}")
        for field in ("accepted", "rejected", "added"):
            object.__setattr__(self, field, _labels(field, getattr(self, field)))
        right = {*self.accepted, *self.added}
        if not right and not self.rejected:
            raise RefusedRecord("a text must be given at least one label that is right or wrong for it")
        for label in self.rejected:
            if label in right:
                raise RefusedRecord(f"label {label!r} is given as both right and wrong for the same text")


@dataclass(frozen=True, slots=True)
class AddLabel:
    """A label is to be known before its first text; `names` is what people call it, the preferred name first."""

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
    """A label gets another name; the old one goes on to mean it."""

    kind: ClassVar[str] = "rename label"
    label: Name
    to: Name

    def __post_init__(self) -> None:
        _label("label", self.label)
        _label("to", self.to)


@dataclass(frozen=True, slots=True)
class MergeLabels:
    """A label becomes one with another, whose name both have from then on."""

    kind: ClassVar[str] = "merge labels"
    label: Name
    into: Name

    def __post_init__(self) -> None:
        _label("label", self.label)
        _label("into", self.into)


@dataclass(frozen=True, slots=True)
class RetireLabel:
    """A label is not ranked and not learnt any more, until it is added again."""

    kind: ClassVar[str] = "retire label"
    label: Name

    def __post_init__(self) -> None:
        _label("label", self.label)


@dataclass(frozen=True, slots=True)
class BandFeedback:
    """A label was shown in a band, such as "suggest", with a score, and a person says in which band it belongs."""

    kind: ClassVar[str] = "band"
    label: Name
    score: float
    shown: str
    wanted: str

    def __post_init__(self) -> None:
        _label("label", self.label)
        if isinstance(self.score, bool) or not isinstance(self.score, int | float) or not math.isfinite(self.score):
            raise RefusedRecord(f"a score must be a finite number, got {self.score!r}")
        object.__setattr__(self, "score", float(self.score))
        for field in ("shown", "wanted"):
            value = getattr(self, field)
            if not isinstance(value, str) or not 1 <= len(value) <= 100:
                raise RefusedRecord(f"{field} must be the name of a band, of at most 100 letters, got {value!r}")


LabelEdit: TypeAlias = AddLabel | RenameLabel | MergeLabels | RetireLabel
Record: TypeAlias = Learn | LabelEdit | BandFeedback
LABEL_EDITS = (AddLabel, RenameLabel, MergeLabels, RetireLabel)
KINDS: dict[str, type[Record]] = {cls.kind: cls for cls in (Learn, *LABEL_EDITS, BandFeedback)}
_FIELDS = {kind: tuple(field.name for field in fields(cls)) for kind, cls in KINDS.items()}
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _label(field: str, label: Any) -> Name:
    if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
        raise RefusedRecord(f"{field} must be a string or a finite number, got {label!r}")
    return label


def _labels(field: str, labels: Iterable[Any]) -> tuple[Name, ...]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise RefusedRecord(f"{field} must be a list of labels, got {labels!r}")
    listed = tuple(labels)
    if len(listed) > MAX_LABELS:
        raise RefusedRecord(f"{field} must have at most {MAX_LABELS:,} labels, got {len(listed):,}")
    return tuple(_label(f"each of {field}", label) for label in listed)


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
    """Undo `encode_record`; bytes that it cannot have written raise ValueError.

    Examples
    --------
    >>> decode_record(b'{"kind":"retire label","label":"fish"}')
    RetireLabel(label='fish')
    """
    try:
        found = json.loads(raw.decode("utf-8", "surrogatepass"))
        kind = KINDS[found.pop("kind")]
        return kind(**found)
    except (KeyError, TypeError, AttributeError, RecursionError, RefusedRecord) as error:
        raise ValueError(f"the record cannot be read: {error}") from None


def describe(record: Record) -> dict[str, Any]:
    """Return a record as JSON's own types, its kind first."""
    return {"kind": record.kind, **{name: getattr(record, name) for name in _FIELDS[record.kind]}}
