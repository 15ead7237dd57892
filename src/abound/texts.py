"""A text: a string, or the strings of its fields by name, such as title and abstract."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

Text: TypeAlias = str | Mapping[str, str]


class FieldSpan(NamedTuple):
    """A position in a field of a text."""

    start: int
    stop: int
    field: str


def check_text(text: object) -> None:
    """Raise TypeError if a value is neither a string nor a mapping from field to string."""
    if isinstance(text, str):
        return
    if not isinstance(text, Mapping):
        shown = f"{type(text).__name__}: {text!r:.60}"
        raise TypeError(f"a text must be a string, or a mapping from field to string, got {shown}")
    for name, value in text.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"a field of a text must be a string by name, got {name!r:.60}: {value!r:.60}")


def joined(text: Text) -> str:
    r"""Return a text as one string; its fields are joined by line breaks.

    Examples
    --------
    >>> joined({"title": "Roses", "abstract": "How to grow them."})
    'Roses\nHow to grow them.'
    """
    return text if isinstance(text, str) else "\n".join(text.values())


def n_characters(text: Text) -> int:
    """Return the length of a text over all fields."""
    return len(text) if isinstance(text, str) else sum(map(len, text.values()))


def fields_of(texts: Iterable[Text]) -> tuple[str, ...] | None:
    """Return the fields of texts in the order in which they first appear; None if all texts are strings."""
    names: dict[str, None] = {}
    has_fields = False
    for text in texts:
        if not isinstance(text, str):
            has_fields = True
            names.update(dict.fromkeys(text))
    return tuple(names) if has_fields else None
