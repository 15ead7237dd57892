"""Parquet tables of documents, read in batches; needs the extra 'parquet'."""

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO, cast

from abound.data.extras import require
from abound.data.fields import (
    FIELD_OPTIONS,
    LIST_OPTIONS,
    READ_VECTOR_OPTIONS,
    check_weight,
    id_from,
    labels_from,
    missing_field,
    plain_text,
    separator_of,
    text_field_to_write,
    text_fields,
    text_of_fields,
    vector_from,
    weight_from,
)
from abound.data.formats import (
    DAMAGE,
    Format,
    Malformed,
    Option,
    Options,
    Report,
    undecodable,
    unencodable,
    wrong_record,
)
from abound.data.records import Document, make_document

_BATCH = {"batch_rows": Option(4096, "Number of rows in memory at once.", (int,))}
_OPTIONS = {**FIELD_OPTIONS, **READ_VECTOR_OPTIONS, **LIST_OPTIONS, **_BATCH}
_PURPOSE = "Parquet files"
MAX_HELD_BYTES = 1 << 30


class Parquet(Format[Document]):
    """A table with a column of texts and one of labels (lists or strings)."""

    name = "parquet"
    summary = "a table with a text column and a labels column"
    record = Document
    suffixes = (".parquet",)
    options = _OPTIONS

    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[Document]:
        """Yield the documents of a table. Errors are reported with the row number."""
        pyarrow = require("pyarrow", "parquet", _PURPOSE)
        parquet = require("pyarrow.parquet", "parquet", _PURPOSE)
        row, batch_rows = 0, _batch_rows(options)
        try:
            table = parquet.ParquetFile(stream if stream.seekable() else _whole(stream))
            names = _columns(table.schema_arrow, options)
            document_of = _documents(options)
            for batch in table.iter_batches(batch_size=batch_rows, columns=sorted(set(names))):
                columns = [_values(batch.column(name)) for name in names]
                for fields in zip(*columns, strict=True):
                    row += 1
                    try:
                        document = document_of(fields)
                    except Malformed as error:
                        report(row, str(error), False)
                    else:
                        yield document
        except Malformed as error:
            report(row + 1, str(error), True)
        # ValueError: column names that are not UTF-8; OverflowError: numbers that do not fit Python's types.
        except (pyarrow.ArrowException, ValueError, OverflowError, *DAMAGE) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            cause = str(error).partition("\n")[0].rstrip(". ")
            report(row + 1, f"not a complete Parquet file ({cause}); download it again", True)

    def write(self, stream: BinaryIO, records: Iterable[Document], options: Options) -> int:
        """Write the documents as one table and return their number."""
        pyarrow = require("pyarrow", "parquet", _PURPOSE)
        parquet = require("pyarrow.parquet", "parquet", _PURPOSE)
        text_field, string = text_field_to_write(options), pyarrow.string()
        labels_field, id_field, weight_field = options["labels_field"], options["id_field"], options["weight_field"]
        kinds = {id_field: string, text_field: string, labels_field: pyarrow.list_(string)}
        kinds |= {weight_field: pyarrow.float64()} if weight_field is not None else {}
        schema = pyarrow.schema([(name, kind) for name, kind in kinds.items() if name is not None])
        records, count = iter(records), 0
        with parquet.ParquetWriter(stream, schema, compression="zstd") as table:
            while documents := list(islice(records, _batch_rows(options))):
                for number, document in enumerate(documents, count + 1):
                    _check(document, number, options)
                columns = {
                    id_field: [document.id for document in documents],
                    text_field: [document.text for document in documents],
                    labels_field: [list(document.labels) for document in documents],
                    weight_field: [document.weight for document in documents],
                }
                arrays = [pyarrow.array(columns[field.name], field.type) for field in schema]
                table.write_batch(pyarrow.record_batch(arrays, schema=schema))
                count += len(documents)
        return count


def _whole(stream: BinaryIO) -> io.BytesIO:
    """Read a whole stream that cannot seek, because the metadata is at the end of a Parquet file."""
    raw = stream.read(MAX_HELD_BYTES + 1)
    if len(raw) > MAX_HELD_BYTES:
        raise Malformed(f"a table of more than {MAX_HELD_BYTES:,} bytes cannot be read from a pipe; save it to a file")
    return io.BytesIO(raw)


def _batch_rows(options: Options) -> int:
    rows: int = options["batch_rows"]
    if rows < 1:
        raise ValueError(f"batch_rows must be at least 1, got {rows}")
    return rows


def _columns(schema: Any, options: Options) -> list[str]:
    """Return the columns to read: texts, and labels, weight and id if wanted."""
    wanted = [("text_field", name) for name in text_fields(options)]
    if options["labels_field"] is not None:
        wanted.append(("labels_field", options["labels_field"]))
    if options["weight_field"] is not None:
        wanted.append(("weight_field", options["weight_field"]))
    if options["vector_field"] is not None:
        wanted.append(("vector_field", options["vector_field"]))
    id_field = options["id_field"]
    if id_field is not None and (id_field in schema.names or id_field != FIELD_OPTIONS["id_field"].default):
        wanted.append(("id_field", id_field))
    for option, name in wanted:
        if name not in schema.names:
            raise Malformed(missing_field(option, name, schema.names))
        if schema.names.count(name) > 1:
            raise Malformed(f"{schema.names.count(name)} columns are named {name!r}; exactly one is needed")
    return [name for _, name in wanted]


def _values(column: Any) -> list[Any]:
    try:
        return cast(list[Any], column.to_pylist())
    except UnicodeDecodeError:
        return [_value(item) for item in column]


def _value(item: Any) -> Any:
    try:
        return item.as_py()
    except UnicodeDecodeError as error:
        return error  # reported when its row is reached


def _documents(options: Options) -> Callable[[tuple[Any, ...]], Document]:
    """Return a function that turns the fields of a row into a document."""
    names, join = text_fields(options), options["join"]
    labels_at = len(names)
    has_labels, separator = options["labels_field"] is not None, separator_of(options)
    has_weight, weight_at = options["weight_field"] is not None, labels_at + has_labels
    has_vector, vector_at = options["vector_field"] is not None, weight_at + has_weight
    id_at = vector_at + has_vector

    def document_of(fields: tuple[Any, ...]) -> Document:
        for field in fields:
            if isinstance(field, UnicodeDecodeError):
                raise Malformed(undecodable(field))
        text = text_of_fields(fields[:labels_at], names, join)
        labels = labels_from(fields[labels_at], separator) if has_labels else ()
        weight = weight_from(fields[weight_at]) if has_weight else 1.0
        vector = vector_from(fields[vector_at]) if has_vector else None
        name = id_from(fields[id_at]) if id_at < len(fields) else None
        return make_document((labels, text, name, weight, (), vector))

    return document_of


def _check(document: object, number: int, options: Options) -> None:
    if not isinstance(document, Document):
        raise TypeError(wrong_record(FORMAT, document))
    try:
        texts = (plain_text(document, "parquet"), *document.labels, document.id or "")
    except ValueError as error:
        raise ValueError(f"record {number}: {error}") from None
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"record {number}: text, labels and id must be strings")
    if "" in document.labels:
        raise ValueError(f"record {number}: a label is empty, which parquet cannot represent; leave it out")
    if (document.labels and options["labels_field"] is None) or (document.id and options["id_field"] is None):
        raise ValueError(f"record {number}: it has labels or an id, but labels_field or id_field is None")
    try:
        check_weight(document, options)
    except ValueError as error:
        raise ValueError(f"record {number}: {error}") from None
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"record {number}: {unencodable(error)}") from error


FORMAT = Parquet()
