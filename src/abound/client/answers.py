"""The answers of a server as the client returns them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from abound.texts import FieldSpan

Name = str | int | float


class Word(NamedTuple):
    """A word, its vote for a label, and its positions in the text if the answer has them.

    If the text has fields, a position has a third element: its field.
    """

    word: str
    vote: float
    spans: list[tuple[int, int]] | list[FieldSpan] | None = None


class Ranked(NamedTuple):
    """One label of a ranking; rank 1 is best."""

    label: Name
    score: float
    rank: int
    name: str | None = None
    band: str | None = None
    probability: float | None = None
    words: list[Word] | None = None
    path: list[str] | None = None  # the names of the labels above it, the top concept first


class Similar(NamedTuple):
    """A learned text that is similar to another one: its beginning, its labels, and the similarity, at most 1."""

    text: str
    labels: list[Name]
    names: list[str]  # of the labels
    similarity: float


class Explained(NamedTuple):
    """The words that vote for a label; the score is the sum of their votes and `prior`, the label's bias.

    `similar` are similar texts that have the label, None if the model shows none.
    """

    label: Name
    score: float
    words: list[Word]
    prior: float = 0.0
    similar: list[Similar] | None = None


class Learned(NamedTuple):
    """The sequence of a correction in the server's journal, and whether it had already been learned.

    `new_labels` are the labels that it made, and `resolved` has the labels that were given by their names, by name.
    """

    sequence: int
    repeated: bool
    new_labels: Sequence[Name] = ()
    resolved: Mapping[str, Name] = MappingProxyType({})


class LabelMatch(NamedTuple):
    """A label that was found.

    Attributes
    ----------
    label : name
    texts : int
        The number of its texts.
    name : str or None
        The name that is shown, if it has one.
    quality : dict or None
        By name of the metric, if the server knows it.
    found_by : str or None
        Another name of the label that was found, such as a former one.
    rejected : float or None
        Of the recent corrections in which it was offered, the share in which it was refused.
    score : float or None
        For the text, if it has a vote.
    """

    label: Name
    texts: int
    name: str | None = None
    quality: dict[str, Any] | None = None
    found_by: str | None = None
    rejected: float | None = None
    score: float | None = None


class Changes(NamedTuple):
    """How many texts and words label edits affect, and their sequence unless it was a dry run.

    After a single edit, `names` are the names of the label as they are shown.
    """

    texts: int
    words: int
    sequence: int | None
    names: list[str] | None = None


class Taught(NamedTuple):
    """A record of the server's journal.

    Attributes
    ----------
    status : str
        "live", "undone", "forgotten" or "skipped"; `by` is the record that undid or forgot it.
    content : dict
        The fields of its kind, such as `text` and `added`, and its idempotency key as `key`.
    """

    sequence: int
    time: str
    kind: str
    status: str
    content: dict[str, Any]
    by: int | None = None
    who: str | None = None
    source: str | None = None


def ranked_of(entry: dict[str, Any]) -> Ranked:
    """Return a label of a ranking."""
    words = words_of(entry["words"]) if "words" in entry else None
    name, band, probability = (entry.get(name) for name in ("name", "band", "probability"))
    path = [step.get("name", step["label"]) for step in entry["path"]] if "path" in entry else None
    return Ranked(entry["label"], entry["score"], entry["rank"], name, band, probability, words, path)


def match_of(entry: dict[str, Any]) -> LabelMatch:
    """Return a label that was found."""
    others = (entry.get(name) for name in ("name", "quality", "found_by", "rejected", "score"))
    return LabelMatch(entry["label"], entry["count"], *others)


def taught_of(entry: dict[str, Any]) -> Taught:
    """Return a record; the entry is changed."""
    sequence, time, kind, status = (entry.pop(name) for name in ("sequence", "time", "kind", "status"))
    by, who, source = (entry.pop(name, None) for name in ("by", "who", "source"))
    return Taught(sequence, time, kind, status, entry, by, who, source)


def similar_of(texts: list[dict[str, Any]]) -> list[Similar]:
    """Return similar texts."""
    return [
        Similar(
            one["text"],
            [own["label"] for own in one["labels"]],
            [own.get("name", str(own["label"])) for own in one["labels"]],
            one["similarity"],
        )
        for one in texts
    ]


def words_of(words: list[dict[str, Any]]) -> list[Word]:
    """Return the words of an explanation."""
    return [Word(word["word"], word["vote"], _spans(word)) for word in words]


def _spans(word: dict[str, Any]) -> list[tuple[int, int]] | list[FieldSpan] | None:
    if "spans" not in word:
        return None
    if "fields" in word:
        return [
            FieldSpan(start, stop, field) for (start, stop), field in zip(word["spans"], word["fields"], strict=True)
        ]
    return [(a, b) for a, b in word["spans"]]
