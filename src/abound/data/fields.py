"""Read text, labels, id and weight of a document from named fields."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from abound.data.formats import Malformed, Option, Options
from abound.data.parsing import labels_of, parse_float, shown
from abound.data.records import Document
from abound.texts import Text

HEAVIEST = 1_000.0  # the largest weight that can be learned

FIELD_OPTIONS = {
    "text_field": Option("text", "Field of the text, or a list of the text's fields.", (str, list, tuple)),
    "labels_field": Option("labels", "Field of the labels; None for documents without labels.", (str, type(None))),
    "id_field": Option("id", "Field of the document's id; None for none.", (str, type(None))),
    "weight_field": Option(None, "Field of the document's weight; None if all weigh 1.", (str, type(None))),
    "join": Option(
        None, "Separator to join several fields into one text; None keeps the fields.", (str, type(None)), use="read"
    ),
}

_SEPARATOR_HELP = "Separator between two labels if the field is a string; None takes the string as one label."
WRONG_OPTIONS = {
    "wrong_field": Option(
        "wrong", "Field of labels that are wrong for the document, if it has any; None for none.", (str, type(None))
    )
}
_VECTOR_HELP = "Field of the text's vector: a list of numbers, or null; None for none."
VECTOR_OPTIONS = {"vector_field": Option(None, _VECTOR_HELP, (str, type(None)))}
READ_VECTOR_OPTIONS = {"vector_field": Option(None, _VECTOR_HELP, (str, type(None)), use="read")}
LIST_OPTIONS = {"label_separator": Option(None, _SEPARATOR_HELP, (str, type(None)), use="read")}


def text_fields(options: Options) -> tuple[str, ...]:
    """Return the names of the text fields."""
    given = options["text_field"]
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"text_field must name at least one field, got {given!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"text_field names a field twice: {_listed(names)}")
    return names


def text_field_to_write(options: Options) -> str:
    """Return the name of the text field to write. Raise an error if there are several."""
    names = text_fields(options)
    if len(names) > 1:
        raise ValueError(f"text_field must name one field for writing, got {len(names)}")
    fields = (names[0], options["labels_field"], options["id_field"], options["weight_field"])
    used = [name for name in fields if name is not None]
    if len(set(used)) < len(used):
        raise ValueError(f"text_field, labels_field, id_field and weight_field must differ, got {_listed(used)}")
    return names[0]


def text_of_fields(values: Iterable[Any], names: tuple[str, ...], join: str | None) -> Text:
    """Return a text with several fields, or join them. None is left out, but at least one must be a string."""
    texts = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    for text in texts.values():
        if type(text) is not str:
            raise Malformed(f"the text must be a string, got {shown(text)}")
    if not texts:
        raise Malformed(f"{_listed(names)} is missing or null; the text must be a string")
    return texts if join is None and len(names) > 1 else (join or "").join(texts.values())


def split_labels(text: str, separator: str) -> tuple[str, ...]:
    """Split labels and strip them: 'a | b' is the labels a and b."""
    labels = tuple([label.strip() for label in labels_of(text.strip(), separator)])
    if "" in labels:
        raise Malformed(f"empty label in {shown(text)}; put one {separator!r} between two labels")
    return labels


def separator_of(options: Options) -> str | None:
    """Return the separator between two labels."""
    separator: str | None = options["label_separator"]
    if separator is not None and len(separator) != 1:
        raise ValueError(f"label_separator must be one character, got {separator!r}")
    return separator


def labels_from(value: Any, separator: str | None = None) -> tuple[str, ...]:
    """Return the labels of a list, a string or a whole number."""
    if separator is not None and type(value) is str:
        return split_labels(value, separator)
    if type(value) is not list:
        value = [value]
    for label in value:
        if type(label) is not str or not label:
            return tuple(map(_label_from, value))
    return tuple(value)


def check_both(right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    """Raise an error if a label is given as both right and wrong."""
    for label in wrong:
        if label in right:
            raise Malformed(f"label {shown(label)} is given as both right and wrong; leave one out")


def _label_from(label: Any) -> str:
    if type(label) is int:
        return str(label)
    if type(label) is not str:
        raise Malformed(f"a label must be a string or a whole number, got {shown(label)}")
    if not label:
        raise Malformed("a label is empty; leave it out, or use an empty list for no labels")
    return label


def id_from(value: Any) -> str | None:
    """Return the id as a string, or None."""
    if value is None or type(value) is str:
        return value
    if type(value) is not int:
        raise Malformed(f"the id must be a string or a whole number, got {shown(value)}")
    return str(value)


def weight_from(value: Any) -> float:
    """Return the weight of a document."""
    if type(value) not in (int, float) or not 0 <= value <= HEAVIEST:  # NaN, too
        raise Malformed(f"the weight must be a number from 0 to {HEAVIEST:,.0f}, got {shown(value)}")
    return float(value)


def vector_from(value: Any) -> tuple[float, ...] | None:
    """Return the vector of a document; None if nothing is known about its text."""
    if value is None:
        return None
    if type(value) is not list or not value or not all(type(one) in (int, float) for one in value):
        raise Malformed(f"the vector must be a list of numbers, got {shown(value)}")
    vector = tuple(map(float, value))
    if not all(map(isfinite, vector)):
        raise Malformed("the vector has a number that is not finite")
    return vector


def weight_from_text(text: str) -> float:
    """Return the weight of a document in a file of texts."""
    return weight_from(parse_float(text.strip(), "the weight"))


def plain_text(document: Document, format_name: str) -> str:
    """Return the text of a document, which a format can only represent without fields."""
    if isinstance(document.text, Mapping):
        what = f"the text has the fields {_listed(document.text)}" if document.text else "the text has fields"
        how = "write jsonl instead, or join them while reading with join=' '"
        raise ValueError(f"{what}, which {format_name} cannot represent; {how}")
    return document.text


def check_weight(document: Document, options: Options) -> None:
    """Raise an error if a document has a weight that is not written."""
    if options["weight_field"] is None and document.weight != 1.0:
        raise ValueError(f"the document has weight {document.weight}, but weight_field=None")
    try:
        weight_from(document.weight)
    except Malformed as error:
        raise ValueError(str(error)) from None


def missing_field(option: str, name: str, present: Iterable[str]) -> str:
    """Return the message for a missing field."""
    names = list(present)
    fields = _listed(names[:20]) if names else "none"
    hint = ", or labels_field=None for documents without labels" if option == "labels_field" else ""
    return f"no field {name!r} (the fields: {fields}); name the right one with {option}=...{hint}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(shown, names))
