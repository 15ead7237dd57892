"""CSV and TSV with a header row, quoted as in RFC 4180.

The csv module is not used: it cannot say on which line a quoted field opened, stops at fields of 131,072
characters unless a process-wide limit is raised, and takes stray quotes without a word.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple

from abound.data.fields import FIELD_OPTIONS, missing, text_field_to_write, text_fields
from abound.data.formats import LINE_OPTIONS, LineFormat, Malformed, Option, Options, too_long
from abound.data.parsing import Guard, counted, labels_of, shown
from abound.data.records import Document

# A bar is rarer in names than comma and semicolon, and never needs quotes, whichever the file's delimiter is.
_SEPARATOR = Option("|", "What stands between two labels of the labels field.")


class Delimited(LineFormat[Document]):
    """A header row, then one document a row; quoted fields may hold anything.

    Parameters
    ----------
    name, summary : str
        Of the format.
    delimiter : str
        What separates two columns.
    configurable : bool
        Whether the delimiter is an option.
    """

    record = Document
    headed = True

    def __init__(self, name: str, summary: str, delimiter: str, configurable: bool) -> None:
        self.name = name
        self.summary = summary
        self.suffixes = (f".{name}",)
        self._delimiter = delimiter
        self.options = {**FIELD_OPTIONS, "label_separator": _SEPARATOR, **LINE_OPTIONS}
        if configurable:
            self.options["delimiter"] = Option(delimiter, "What separates two columns.")

    def numbered(self, lines: Iterator[bytes], options: Options) -> Iterator[tuple[int, bytes]]:
        """Yield each record's bytes, of several lines where a quoted field spans them."""
        mark = re.escape(self._delimiter_of(options).encode())
        # Whole fields, then a quote without its partner: the record goes on in the next line. A line with a
        # stray quote does not look like that, so it cannot swallow the lines after it.
        whole = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"%b]*+)%b' % (mark, mark)
        opens = re.compile(rb'(?:%b)*+"[^"]*+(?:""[^"]*+)*+' % whole).fullmatch
        number = 0
        for line in lines:
            number += 1
            start, parts = number, [line]
            if line.count(b'"') % 2 and opens(line):
                size, longest = len(line), options["longest_line"]
                for more in lines:
                    number += 1
                    parts.append(more)
                    size += len(more)
                    if size > longest:
                        raise Malformed(too_long(longest), fatal=True)
                    if more.count(b'"') % 2:
                        break
            yield start, b"".join(parts)

    def parser(self, options: Options) -> Callable[[str], Document | None]:
        """Return the function from a row to a document; the first row is the header."""
        separator, delimiter = _separator_of(options), self._delimiter_of(options)
        split = _splitter(delimiter)
        join, has_labels = options["join"], options["labels_field"] is not None
        columns: _Columns | None = None

        def parse(line: str) -> Document | None:
            nonlocal columns
            if not line:
                return None
            fields = split(line)
            if columns is None:
                columns = _columns_of(fields, delimiter, options)
                return None
            if len(fields) != columns.total:
                raise Malformed(f"{counted(len(fields), 'column')}; {columns.total} wanted, as in the header")
            text = join.join([fields[column] for column in columns.texts])
            labels = _labels_of(fields[columns.labels], separator) if has_labels else ()
            return Document(labels, text, (fields[columns.id] or None) if columns.id >= 0 else None)

        return parse

    def formatter(self, options: Options) -> Callable[[Document], str]:
        """Return the function from a document to its row."""
        separator, delimiter = _separator_of(options), self._delimiter_of(options)
        instead = "write jsonl instead, or choose another label_separator"
        guard = Guard(self.name, "label", re.escape(separator), instead)
        has_labels, has_id = options["labels_field"] is not None, options["id_field"] is not None
        quoted = _quoter(delimiter)

        def line_of(document: Document) -> str:
            for label in document.labels:
                if guard(label) != label.strip():
                    raise ValueError(
                        f"the label {shown(label)} starts or ends with whitespace, which "
                        f"{self.name} cannot carry; write jsonl instead"
                    )
            if document.id == "":
                raise ValueError(f"the id is empty, which {self.name} cannot carry; write jsonl instead")
            if (document.labels and not has_labels) or (document.id and not has_id):
                raise ValueError("the document has labels or an id, and the field that would hold it is None")
            fields = [document.id or ""] if has_id else []
            fields.append(document.text)
            if has_labels:
                fields.append(separator.join(document.labels))
            # An empty line would be passed over.
            return delimiter.join(map(quoted, fields)) or '""'

        return line_of

    def write(self, stream: BinaryIO, records: Iterable[Document], options: Options) -> int:
        """Write a header and the records, and return how many records there were."""
        names = (options["id_field"], text_field_to_write(options), options["labels_field"])
        delimiter = self._delimiter_of(options)
        header = delimiter.join(map(_quoter(delimiter), [name for name in names if name is not None]))
        stream.write(header.encode() + b"\n")
        return super().write(stream, records, options)

    def _delimiter_of(self, options: Options) -> str:
        delimiter: str = options.get("delimiter", self._delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r':
            raise ValueError(f"delimiter must be one ASCII character, no quote or line break, got {delimiter!r}")
        return delimiter


class _Columns(NamedTuple):
    total: int
    texts: tuple[int, ...]
    labels: int
    id: int


def _columns_of(header: list[str], delimiter: str, options: Options) -> _Columns:
    """Find the columns that are wanted; without them no row can be read."""
    names = [name.strip() for name in header]

    def find(option: str, name: str | None) -> int:
        if name is None:
            return -1
        if name not in names:
            if option == "id_field" and name == FIELD_OPTIONS[option].default:
                return -1  # nobody asked for it
            reason = f"in the header: {missing(option, name, names)}{_hint(names, delimiter)}"
            raise Malformed(reason, fatal=True)
        if names.count(name) > 1:
            raise Malformed(f"the header has {names.count(name)} columns {name!r}; one is wanted", fatal=True)
        return names.index(name)

    texts = tuple(find("text_field", name) for name in text_fields(options))
    labels, number = find("labels_field", options["labels_field"]), find("id_field", options["id_field"])
    return _Columns(len(names), texts, labels, number)


def _hint(names: list[str], delimiter: str) -> str:
    """Guess what kind of file the reader was given instead."""
    if len(names) == 1 and delimiter == "," and ";" in names[0]:
        return "; if columns are separated by ';', set delimiter=';'"
    if delimiter == "\t":
        return "; a file without a header is format 'labels-tsv' (labels first) or 'annif' (text first)"
    return ""


def _splitter(delimiter: str) -> Callable[[str], list[str]]:
    """Return the function from a row to its fields."""
    mark = re.escape(delimiter)
    field = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{mark}]*+))({mark}|\Z)').match

    def split(line: str) -> list[str]:
        if '"' not in line:
            return line.split(delimiter)
        fields, end, more = [], 0, True
        while more:
            found = field(line, end)
            if found is None:
                raise Malformed(_quote_problem(line, end))
            fields.append(found[2] if found[1] is None else found[1].replace('""', '"'))
            end, more = found.end(), found[3] == delimiter
        return fields

    return split


def _quote_problem(line: str, start: int) -> str:
    if line[start] == '"' and line.count('"', start) % 2:
        return f"a quote opens {shown(line[start : start + 30])} and none closes it; end the field with a quote"
    where = "after a quoted field" if line[start] == '"' else "inside a field without quotes"
    return (
        f"a stray quote or text {where} at {shown(line[start : start + 30])}; "
        "quote the whole field and double each quote inside it"
    )


def _quoter(delimiter: str) -> Callable[[str], str]:
    """Return the function that quotes a field where it has to be."""
    special = re.compile(f'["\n\r{re.escape(delimiter)}]').search

    def quoted(field: str) -> str:
        return '"' + field.replace('"', '""') + '"' if special(field) else field

    return quoted


def _labels_of(text: str, separator: str) -> tuple[str, ...]:
    """Split the labels; 'a | b' is the labels a and b, as people write it."""
    labels = tuple([label.strip() for label in labels_of(text.strip(), separator)])
    if "" in labels:
        raise Malformed(f"empty label in {shown(text)}; put one {separator!r} between two labels")
    return labels


def _separator_of(options: Options) -> str:
    separator: str = options["label_separator"]
    if len(separator) != 1:
        raise ValueError(f"label_separator must be one character, got {separator!r}")
    return separator


CSV = Delimited("csv", "comma-separated values with a header row", ",", configurable=True)
TSV = Delimited("tsv", "tab-separated values with a header row", "\t", configurable=False)
