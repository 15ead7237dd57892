"""JSON Lines: one object per line. The format supports all texts and labels."""

import json
from collections.abc import Callable
from typing import Any, cast

from abound.data.fields import (
    FIELD_OPTIONS,
    LIST_OPTIONS,
    VECTOR_OPTIONS,
    WRONG_OPTIONS,
    check_both,
    check_weight,
    id_from,
    labels_from,
    missing_field,
    separator_of,
    text_field_to_write,
    text_fields,
    text_of_fields,
    vector_from,
    weight_from,
)
from abound.data.formats import LINE_OPTIONS, LineFormat, Malformed, Options
from abound.data.parsing import shown
from abound.data.records import Document, make_document
from abound.texts import Text, check_text

CORRECTION = "correction"  # in the field `kind` of a line that `abound journal export` wrote


class Jsonl(LineFormat[Document]):
    """One JSON object per line, with a text, a list of labels and an optional id."""

    name = "jsonl"
    summary = "one JSON object per line"
    record = Document
    suffixes = (".jsonl", ".ndjson")
    options = FIELD_OPTIONS | WRONG_OPTIONS | VECTOR_OPTIONS | LIST_OPTIONS | LINE_OPTIONS

    def parser(self, options: Options) -> Callable[[str], Document | None]:
        """Return a function that parses a line into a document."""
        names = text_fields(options)
        single = names[0] if len(names) == 1 else None
        labels_field, id_field, join = options["labels_field"], options["id_field"], options["join"]
        separator, weight_field, wrong_field = separator_of(options), options["weight_field"], _wrong_field(options)
        vector_field = options["vector_field"]

        def parse(line: str) -> Document | None:
            if not line or line.isspace():
                return None
            fields = _object(line)
            if fields.get("kind") == CORRECTION:
                return _correction(fields)
            text: Any
            if single is None:
                text = text_of_fields(map(fields.get, names), names, join)
            elif type(text := fields.get(single)) is not str:
                text = _text_with_fields(fields, single, join)
            labels: tuple[str, ...] = ()
            if labels_field is not None:
                if labels_field not in fields:
                    raise Malformed(missing_field("labels_field", labels_field, fields))
                labels = labels_from(fields[labels_field], separator)
            name = None if id_field is None else id_from(fields.get(id_field))
            weight = 1.0
            if weight_field is not None:
                if weight_field not in fields:
                    raise Malformed(missing_field("weight_field", weight_field, fields))
                weight = weight_from(fields[weight_field])
            wrong: tuple[str, ...] = ()
            if wrong_field in fields:
                wrong = labels_from(fields[wrong_field], separator)
                check_both(labels, wrong)
            if "\\u" in line:
                _check_surrogates(text, *labels, *wrong, name or "")
            vector = None if vector_field is None else _vector(fields, vector_field)
            return make_document((labels, text, name, weight, wrong, vector))

        return parse

    def formatter(self, options: Options) -> Callable[[Document], str]:
        """Return a function that formats a document as a line."""
        text_field = text_field_to_write(options)
        labels_field, id_field, weight_field = options["labels_field"], options["id_field"], options["weight_field"]
        wrong_field, vector_field = _wrong_field(options), options["vector_field"]
        encode = json.JSONEncoder(ensure_ascii=False).encode

        def line_of(document: Document) -> str:
            fields: dict[str, Any] = {}
            if document.id is not None:
                if id_field is None:
                    raise ValueError(f"the document has id {shown(document.id)}, but id_field=None")
                fields[id_field] = document.id
            fields[text_field] = document.text if isinstance(document.text, str) else dict(document.text)
            if labels_field is not None:
                fields[labels_field] = list(document.labels)
            elif document.labels:
                raise ValueError("the document has labels, but labels_field=None")
            check_weight(document, options)
            if weight_field is not None:
                fields[weight_field] = document.weight
            if document.wrong:
                if wrong_field is None:
                    raise ValueError("the document has wrong labels, but wrong_field=None")
                fields[wrong_field] = list(document.wrong)
            if vector_field is not None:
                fields[vector_field] = None if document.vector is None else list(document.vector)
            elif document.vector is not None:
                raise ValueError("the document has a vector, but vector_field=None")
            texts = (*document.labels, *document.wrong, document.id or "")
            if not _is_text(document.text) or not all(isinstance(text, str) for text in texts):
                raise ValueError("text, labels and id must be strings; a text may have fields, which must be strings")
            if "" in document.labels or "" in document.wrong:
                raise ValueError("a label is empty, which jsonl cannot represent; leave it out")
            return encode(fields)

        return line_of


# The C scanner of json.loads. Calling it directly saves a third of the time for a short line.
_SCAN = cast(Any, json.JSONDecoder()).scan_once


def _object(line: str) -> dict[str, Any]:
    try:
        fields, end = _SCAN(line, 0)
        if end == len(line) and type(fields) is dict:
            return fields
    except (ValueError, RecursionError, StopIteration):
        pass  # json.loads gives a good message, or accepts white space around the object
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        what = f"{error.msg.removesuffix(' at')} at column {error.colno}"
        raise Malformed(f"not JSON: {what}; write one object per line") from None
    except ValueError:
        raise Malformed("a number has thousands of digits; write it as a string") from None
    except RecursionError:
        raise Malformed("brackets are nested thousands deep; write one flat object per line") from None
    if type(fields) is not dict:
        raise Malformed(f"{shown(fields)} is not a JSON object; write one object per line")
    return fields


def _text_with_fields(fields: dict[str, Any], name: str, join: str | None) -> Text:
    """Return a text that is an object: its fields with their strings."""
    if name not in fields:
        raise Malformed(missing_field("text_field", name, fields))
    text = fields[name]
    if type(text) is not dict or not _is_text(text):
        raise Malformed(f"the text must be a string, or an object of strings by field, got {shown(text)}")
    return text if join is None else join.join(text.values())


def _is_text(text: object) -> bool:
    try:
        check_text(text)
    except TypeError:
        return False
    return True


def _wrong_field(options: Options) -> str | None:
    """Return the field of wrong labels; a field that is read as something else has none."""
    name: str | None = options["wrong_field"]
    others = (*text_fields(options), options["labels_field"], options["id_field"], options["weight_field"])
    return None if name in (*others, options["vector_field"]) else name


def _vector(fields: dict[str, Any], name: str) -> tuple[float, ...] | None:
    if name not in fields:
        raise Malformed(missing_field("vector_field", name, fields))
    return vector_from(fields[name])


def _correction(fields: dict[str, Any]) -> Document:
    """Return a correction that `abound journal export` wrote; its fields have fixed names."""
    text = _text_with_fields(fields, "text", None) if type(fields.get("text")) is not str else fields["text"]
    right, wrong = labels_from(fields.get("labels", [])), labels_from(fields.get("wrong", []))
    check_both(right, wrong)
    name = id_from(fields.get("id"))
    _check_surrogates(text, *right, *wrong, name or "")
    return make_document((right, text, name, 1.0, wrong, None))


def _check_surrogates(*texts: Text) -> None:
    try:
        for text in texts:
            for part in (text,) if isinstance(text, str) else (*text, *text.values()):
                part.encode()
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise Malformed(f"\\u{code:04x} is half of a surrogate pair; the other half must follow") from None


FORMAT = Jsonl()
