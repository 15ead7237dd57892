"""What a tagger is given, checked before anything is learned."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from abound.rankers.labels import plain_name
from abound.store.names import Name
from abound.text import prepare


def validate_examples(texts: Sequence[str], labels: Sequence[Iterable[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Return texts and lists of labels that can be learned, or say what is wrong, before anything has changed."""
    if len(texts) != len(labels):
        raise ValueError(f"there are {len(texts)} texts but labels for {len(labels)}; give labels for each text")
    for text in texts:
        if not isinstance(text, str):
            prepare(text)  # raises, and says what a text must be
    names_of = [validate_labels(names) for names in labels]
    for names in names_of:
        for name in names:
            if type(name) is not str:
                plain_name(name)
    return list(texts), names_of


def as_list(values: Iterable[Any]) -> list[Any]:
    """Return what is given for several texts as a list; a sparse matrix is none, though some look like iterables."""
    if hasattr(values, "tocsr"):
        raise TypeError(f"give a list with an entry for each text, not a {type(values).__name__}")
    return list(values)


def validate_names(names: Mapping[Any, str | Sequence[str]]) -> dict[Name, list[str]]:
    """Return the names of each label as a list, or say what is wrong with them."""
    if not isinstance(names, Mapping):
        raise TypeError(f"names must be a mapping from label to name or names, got {type(names).__name__}")
    found = {plain_name(label): [given] if isinstance(given, str) else list(given) for label, given in names.items()}
    for label, given in found.items():
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"the names of label {label!r} must be texts, got {name!r}")
    return found


def validate_labels(names: Iterable[Any]) -> list[Any]:
    """Return the labels of one text as a list; a bare text is more likely a mistake."""
    if isinstance(names, str):
        raise TypeError(f"labels must be a list for each text, got the text {names!r}; give [{names!r}]")
    return list(names)
