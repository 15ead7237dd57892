"""The records of a journal: corrections, label edits, band feedback, and changes of earlier records.

They are written as canonical JSON.
"""

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from abound.errors import RefusedRecord
from abound.store.names import Name
from abound.texts import Text, check_text

MAX_BYTES = 8 << 20  # of any record
MAX_PLAIN_BYTES = 1 << 20  # of a record other than several label edits
MAX_LABELS = 10_000  # of one list in a record
MAX_REASON = 1000  # characters
MAX_EDITS = 50_000  # label edits of one record
MAX_NUMBERS = 8192  # of a vector
MAX_SCORES = 100  # of an outside opinion
MAX_SCORE = 1e300


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
    labels_are : {"ids", "names"}, optional
        How labels are given; by default, a label may be given by its id or its name. The writer replaces names by ids
        before it writes a record, so that a written record has only ids.
    vector : str, optional
        The vector of the text, see `encode_vector`. The writer adds it, so that a replay needs no encoder.
    opinion : mapping from label to score, optional
        What an outside service said about the text; stored as sorted pairs.
    """

    kind: ClassVar[str] = "learn"
    text: Text
    accepted: tuple[Name, ...] = ()
    rejected: tuple[Name, ...] = ()
    added: tuple[Name, ...] = ()
    labels_are: str | None = None
    vector: str | None = None
    opinion: tuple[tuple[Name, float], ...] | None = None

    def __post_init__(self) -> None:
        _check_vector(self.vector)
        object.__setattr__(self, "opinion", _opinion(self.opinion))
        if self.labels_are not in (None, "ids", "names"):
            raise RefusedRecord(f"labels_are must be 'ids', 'names' or None, got {self.labels_are!r}")
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
        object.__setattr__(self, "names", _texts(f"the names of label {self.label!r}", self.names))


@dataclass(frozen=True, slots=True)
class NameLabel:
    """Replace the names of a label for people.

    Attributes
    ----------
    label : name
    names : tuple of str
        The new names, the preferred one first. Names that it had before are still found, but not shown.
    former : tuple of str, optional
        More names that are found, but not shown, such as those of a label that was split.
    """

    kind: ClassVar[str] = "name label"
    label: Name
    names: tuple[str, ...] = ()
    former: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _label("label", self.label)
        object.__setattr__(self, "names", _texts(f"the names of label {self.label!r}", self.names))
        if self.former is not None:
            former = _texts(f"the former names of label {self.label!r}", self.former)
            object.__setattr__(self, "former", former or None)


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
class MoveLabel:
    """Change where a label is in the hierarchy; a label that is not in it is added.

    Attributes
    ----------
    label : name
    broader : tuple of names
        Its broader labels instead of those that it had. A relation that would close a cycle is left out.
    schemes : tuple of str, optional
        Its concept schemes instead of those that it had; None leaves them unchanged.
    """

    kind: ClassVar[str] = "move label"
    label: Name
    broader: tuple[Name, ...] = ()
    schemes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _label("label", self.label)
        object.__setattr__(self, "broader", _labels("broader", self.broader))
        if self.schemes is not None:
            object.__setattr__(self, "schemes", _texts(f"the schemes of label {self.label!r}", self.schemes))


@dataclass(frozen=True, slots=True)
class EditLabels:
    """Apply several label edits in order, all of them or none."""

    kind: ClassVar[str] = "edit labels"
    edits: tuple["LabelEdit", ...]

    def __post_init__(self) -> None:
        if isinstance(self.edits, str | bytes) or not isinstance(self.edits, Iterable):
            raise RefusedRecord(f"edits must be a list of label edits, got {self.edits!r}")
        edits = tuple(_edit(number, edit) for number, edit in enumerate(self.edits, 1))
        if not 1 <= len(edits) <= MAX_EDITS:
            raise RefusedRecord(f"a record must have 1 to {MAX_EDITS:,} label edits, got {len(edits):,}")
        object.__setattr__(self, "edits", edits)


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
    vector : str, optional
        The vector of the text, see `encode_vector`.
    """

    kind: ClassVar[str] = "band"
    label: Name
    score: float
    shown: str
    wanted: str
    text: Text | None = None
    vector: str | None = None

    def __post_init__(self) -> None:
        _label("label", self.label)
        _check_vector(self.vector)
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


LabelEdit: TypeAlias = AddLabel | NameLabel | RenameLabel | MergeLabels | RetireLabel | MoveLabel
Control: TypeAlias = Undo | Forget | Refit
Record: TypeAlias = Learn | LabelEdit | EditLabels | BandFeedback | Control | Forgotten
SINGLE_EDITS = (AddLabel, NameLabel, RenameLabel, MergeLabels, RetireLabel, MoveLabel)
LABEL_EDITS = (*SINGLE_EDITS, EditLabels)
CONTROLS = (Undo, Forget, Refit)  # records about other records
KINDS: dict[str, type[Record]] = {cls.kind: cls for cls in (Learn, *LABEL_EDITS, BandFeedback, *CONTROLS)}
_BASE_NAME = re.compile(r"[0-9a-z]{1,64}")
_VECTOR_HEAD = re.compile(r"[0-9a-f]{8}:")
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
    for label in names:
        if type(label) is not str:  # the common case needs no call
            _label(f"each of {field}", label)
    return names


def encode_vector(encoder: str, numbers: bytes) -> str:
    """Return the vector of a text as a string: a hash of the encoder's name, and the numbers, one byte each.

    Examples
    --------
    >>> encode_vector("letters", bytes([1, 255]))
    '36cf4764:Af8='
    """
    return f"{encoder_hash(encoder)}:{base64.b64encode(numbers).decode('ascii')}"


def encoder_hash(encoder: str) -> str:
    """Return eight digits that identify an encoder by its name."""
    return hashlib.blake2b(encoder.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def decode_vector(vector: str) -> tuple[str, bytes]:
    """Return the hash of the encoder's name and the numbers of a vector; ValueError if it cannot be read."""
    head, numbers = vector[:8], vector[9:]
    if not _VECTOR_HEAD.fullmatch(vector[:9]):
        raise ValueError("a vector must begin with eight digits of its encoder's hash and a colon")
    if len(numbers) > 4 * -(-MAX_NUMBERS // 3):
        raise ValueError(f"a vector must have at most {MAX_NUMBERS:,} numbers")
    try:
        raw = base64.b64decode(numbers.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(f"a vector must have numbers in base64: {error}") from None
    if not 1 <= len(raw) <= MAX_NUMBERS or base64.b64encode(raw).decode("ascii") != numbers:
        raise ValueError(f"a vector must have 1 to {MAX_NUMBERS:,} numbers")
    return head, raw


def _check_vector(vector: Any) -> None:
    if vector is None:
        return
    if not isinstance(vector, str):
        raise RefusedRecord(f"a vector must be a string, got {type(vector).__name__}")
    try:
        decode_vector(vector)
    except ValueError as error:
        raise RefusedRecord(str(error)) from None


def _opinion(opinion: Any) -> tuple[tuple[Name, float], ...] | None:
    """Return the scores of labels as sorted pairs; None if there are none."""
    if opinion is None:
        return None
    pairs = opinion.items() if isinstance(opinion, Mapping) else opinion
    try:
        scores = {_label("a label of an opinion", label): score for label, score in pairs}
    except (TypeError, ValueError):
        raise RefusedRecord("an opinion must be a mapping from label to score, or pairs") from None
    if len(scores) > MAX_SCORES:
        raise RefusedRecord(f"an opinion must have at most {MAX_SCORES} scores, got {len(scores):,}")
    for label, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= MAX_SCORE:
            raise RefusedRecord(f"the score of label {label!r} must be a finite number, got {score!r}")
    ordered = sorted(scores, key=lambda label: (isinstance(label, str), label))
    return tuple((label, float(scores[label])) for label in ordered) or None


def _sequences(records: Any) -> tuple[int, ...]:
    numbers = tuple(records) if isinstance(records, Iterable) and not isinstance(records, str) else ()
    if not numbers or not all(type(number) is int and 0 < number < 1 << 62 for number in numbers):
        raise RefusedRecord(f"records must be a list of the numbers of records, got {records!r}")
    return tuple(sorted(set(numbers)))


def _reason(reason: Any) -> str:
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise RefusedRecord(f"a reason must be a string of at most {MAX_REASON:,} characters")
    return reason


def _texts(field: str, texts: Iterable[Any]) -> tuple[str, ...]:
    found = _labels(field, texts)
    if not all(isinstance(text, str) for text in found):
        raise RefusedRecord(f"{field} must be strings")
    return found  # type: ignore[return-value]  # all are strings


def _edit(number: int, edit: Any) -> "LabelEdit":
    """Return a label edit, which may be given as JSON types."""
    if isinstance(edit, SINGLE_EDITS):
        return edit
    try:
        content = dict(edit)
        kind = KINDS[content.pop("kind")]
        if kind not in SINGLE_EDITS:
            raise RefusedRecord(f"{kind.kind!r} is not a label edit")
        found = kind(**content)
    except (KeyError, TypeError, ValueError, RefusedRecord) as error:
        raise RefusedRecord(f"edit {number} cannot be read: {error}") from None
    assert isinstance(found, SINGLE_EDITS)
    return found


def edits_of(record: "LabelEdit | EditLabels") -> "tuple[LabelEdit, ...]":
    """Return the label edits of a record, in order."""
    return record.edits if isinstance(record, EditLabels) else (record,)


def encode_record(record: Record) -> bytes:
    """Return a record's bytes; equal records have equal bytes.

    Examples
    --------
    >>> encode_record(RetireLabel("fish"))
    b'{"kind":"retire label","label":"fish"}'
    """
    raw = _ENCODER.encode(describe(record)).encode("utf-8", "surrogatepass")
    limit = MAX_BYTES if isinstance(record, EditLabels) else MAX_PLAIN_BYTES
    if len(raw) > limit:
        raise RefusedRecord(f"a record must have at most {limit:,} bytes, got {len(raw):,}")
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
    if isinstance(record, EditLabels):
        given["edits"] = [describe(edit) for edit in record.edits]
    return {"kind": record.kind, **{name: value for name, value in given.items() if value is not None}}
