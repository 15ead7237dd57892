"""Validate the arguments of a tagger before anything is learned."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from abound.rankers.labels import TargetForm, plain_name
from abound.store.names import Name
from abound.texts import Text, check_text


def validate_examples(texts: Sequence[Text], labels: Sequence[Iterable[Any]]) -> tuple[list[Text], list[list[Any]]]:
    """Return texts and their labels as lists. Raise an error if they cannot be learned."""
    if len(texts) != len(labels):
        raise ValueError(f"there are {len(texts)} texts but {len(labels)} lists of labels; give one list per text")
    for text in texts:
        if not isinstance(text, str):
            check_text(text)
    names_of = [validate_labels(names) for names in labels]
    for names in names_of:
        for name in names:
            if type(name) is not str:
                plain_name(name)
    return list(texts), names_of


def check_wrong_are_known(
    right: Sequence[Iterable[Any]], wrong: Sequence[Iterable[Any]], known: Container[Any]
) -> None:
    """Raise ValueError if a wrong label is neither known nor learned before: nothing would be learned from it."""
    learned: set[Any] = set()
    for labels, rejected in zip(right, wrong, strict=True):
        for label in rejected:
            if label not in known and label not in learned:
                raise ValueError(f"label {label!r} is not known, so there is nothing to learn from it being wrong")
        learned.update(labels)


def as_texts(texts: Iterable[Text]) -> list[Text]:
    """Return texts as a list. Raise an error for a single text."""
    if isinstance(texts, str | Mapping):
        raise TypeError("give a list of texts, not a single text")
    return as_list(texts)


def validate_targets(labels: Iterable[Any]) -> tuple[list[Any], TargetForm]:
    """Return the labels of texts as lists, and the form in which they were given: lists, or one name per text."""
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in "biuf":
        raise TypeError("give a list of names for each text, not an indicator matrix")
    given = as_list(labels)
    if given and all(isinstance(name, str | int | float | np.generic) for name in given):
        return [[name] for name in given], "names"
    return given, "lists"


def as_list(values: Iterable[Any]) -> list[Any]:
    """Return the values of several texts as a list. Raise an error for a sparse matrix, which is iterable, too."""
    if hasattr(values, "tocsr"):
        raise TypeError(f"give a list with one entry per text, not a {type(values).__name__}")
    return list(values)


def validate_names(names: Mapping[Any, str | Sequence[str]]) -> dict[Name, list[str]]:
    """Return the names of each label as a list. Raise an error if they are not strings."""
    if not isinstance(names, Mapping):
        raise TypeError(f"names must be a mapping from label to name or names, got {type(names).__name__}")
    lists = {plain_name(label): [given] if isinstance(given, str) else list(given) for label, given in names.items()}
    for label, given in lists.items():
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"the names of label {label!r} must be strings, got {name!r}")
    return lists


def validate_labels(names: Iterable[Any]) -> list[Any]:
    """Return the labels of one text as a list. Raise an error for a string, which is probably a mistake."""
    if isinstance(names, str):
        raise TypeError(f"labels must be a list per text, got the string {names!r}; give [{names!r}]")
    return list(names)


def as_items(given: Any) -> tuple[Any, ...]:
    """Return labels, branches or schemes to select as a tuple; one may be given alone."""
    return (given,) if isinstance(given, str | int | float) else tuple(given)


def check_depth(k: Any) -> None:
    """Raise ValueError if the number of labels to rank is not a whole number of at least 1."""
    if not isinstance(k, int) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
