"""CSV and TSV with a header row, quoted as in RFC 4180.

The csv module is not used: it does not report the line on which a quoted field starts, it stops at fields of 131,072
characters unless a process-wide limit is raised, and it silently accepts stray quotes.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple

from abound.data.fields import (
    FIELD_OPTIONS,
    check_weight,
    missing_field,
    plain_text,
    separator_of,
    split_labels,
    text_field_to_write,
    text_fields,
    text_of_fields,
    weight_from_text,
)
from abound.data.formats import LINE_OPTIONS, LineFormat, Malformed, Option, Options, too_long
from abound.data.parsing import Guard, count_noun, number_text, shown
from abound.data.records import Document
from abound.errors import FormatWarning
from abound.spreadsheets import guarded, unguarded

DETECTED_DELIMITERS = (",", ";", "\t", "|")  # delimiters that are detected from a header
# A bar is rarer in names than a comma or a semicolon, and it never needs quotes.
_SEPARATOR = Option("|", "Separator between two labels of the labels field.")


class Delimited(LineFormat[Document]):
    """A header row, then one document per row. Quoted fields may contain anything.

    A cell that a spreadsheet would compute is written with a single quote before it, which is removed when it is read.

    Parameters
    ----------
    name, summary : str
        Name and summary of the format.
    delimiter : str
        The column separator.
    configurable : bool
        Whether the delimiter is an option. If the option is not given, it is detected from the header.
    """

    record = Document
    has_header = True

    def __init__(self, name: str, summary: str, delimiter: str, configurable: bool) -> None:
        self.name = name
        self.summary = summary
        self.suffixes = (f".{name}",)
        self._delimiter = delimiter
        self.options = {**FIELD_OPTIONS, "label_separator": _SEPARATOR, **LINE_OPTIONS}
        if configurable:
            help_ = "Column separator. None detects it from the header; when writing, it is a comma."
            self.options["delimiter"] = Option(None, help_, (str, type(None)))

    def numbered(self, lines: Iterator[bytes], options: Options) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of each record, which may have several lines if a field is quoted."""
        number, opens = 0, None
        for line in lines:
            number += 1
            if opens is None and line.strip():
                opens = _opener(self._delimiter_in(line.decode(errors="replace"), options))
            start, parts = number, [line]
            if line.count(b'"') % 2 and opens is not None and opens(line):
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
        """Return a function that parses a row into a document. The first row is the header."""
        separator = str(separator_of(options))
        split = _splitter(self._delimiter_of(options))
        join, has_labels, names = options["join"], options["labels_field"] is not None, text_fields(options)
        columns: _Columns | None = None

        def parse(line: str) -> Document | None:
            nonlocal columns, split
            if not line:
                return None
            if columns is None:
                delimiter = self._delimiter_in(line, options)
                split = _splitter(delimiter)
                columns = _columns_of(split(line), delimiter, options)
                if delimiter != self._delimiter_of(options):
                    how = f"pass delimiter={delimiter!r} to avoid this warning"
                    words = f"{delimiter!r} is the column separator, as detected from the header; {how}"
                    warnings.warn(words, FormatWarning, stacklevel=2)
                return None
            fields = split(line)
            if len(fields) != columns.total:
                raise Malformed(f"{count_noun(len(fields), 'column')}; the header has {columns.total}")
            texts = [unguarded(fields[column]) for column in columns.texts]
            text = texts[0] if len(texts) == 1 else text_of_fields(texts, names, join)
            labels = split_labels(unguarded(fields[columns.labels]), separator) if has_labels else ()
            weight = weight_from_text(fields[columns.weight]) if columns.weight >= 0 else 1.0
            return Document(labels, text, (unguarded(fields[columns.id]) or None) if columns.id >= 0 else None, weight)

        return parse

    def formatter(self, options: Options) -> Callable[[Document], str]:
        """Return a function that formats a document as a row."""
        separator, delimiter = str(separator_of(options)), self._delimiter_of(options)
        instead = "write jsonl instead, or choose another label_separator"
        guard = Guard(self.name, "label", re.escape(separator), instead)
        has_labels, has_id = options["labels_field"] is not None, options["id_field"] is not None
        quoted = _quoter(delimiter)

        def line_of(document: Document) -> str:
            for label in document.labels:
                if guard(label) != label.strip():
                    raise ValueError(
                        f"the label {shown(label)} starts or ends with whitespace, which "
                        f"{self.name} cannot represent; write jsonl instead"
                    )
            if document.id == "":
                raise ValueError(f"the id is empty, which {self.name} cannot represent; write jsonl instead")
            if (document.labels and not has_labels) or (document.id and not has_id):
                raise ValueError("the document has labels or an id, but labels_field or id_field is None")
            fields = [document.id or ""] if has_id else []
            fields.append(plain_text(document, self.name))
            if has_labels:
                fields.append(separator.join(document.labels))
            check_weight(document, options)
            if options["weight_field"] is not None:
                fields.append(number_text(document.weight))
            # Readers ignore an empty line.
            return delimiter.join(quoted(guarded(field)) for field in fields) or '""'

        return line_of

    def write(self, stream: BinaryIO, records: Iterable[Document], options: Options) -> int:
        """Write a header and the records, and return the number of records."""
        names = (options["id_field"], text_field_to_write(options), options["labels_field"], options["weight_field"])
        delimiter = self._delimiter_of(options)
        header = delimiter.join(map(_quoter(delimiter), [name for name in names if name is not None]))
        stream.write(header.encode() + b"\n")
        return super().write(stream, records, options)

    def _delimiter_of(self, options: Options) -> str:
        delimiter: str = options.get("delimiter") or self._delimiter
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r':
            raise ValueError(f"delimiter must be one ASCII character, not a quote or line break, got {delimiter!r}")
        return delimiter

    def _delimiter_in(self, header: str, options: Options) -> str:
        """Return the given delimiter, or the one that splits the header into the wanted columns."""
        usual = self._delimiter_of(options)
        if "delimiter" not in self.options or options["delimiter"] is not None:
            return usual
        line = header.partition("\n")[0].removesuffix("\r")
        columns = {delimiter: [name.strip() for name in _cut(line, delimiter)] for delimiter in DETECTED_DELIMITERS}
        wanted = {*text_fields(options), options["labels_field"], options["weight_field"]} - {None}
        for delimiter, names in columns.items():
            if wanted <= set(names):
                return delimiter
        # The most columns, for the message on missing columns.
        return max(DETECTED_DELIMITERS, key=lambda delimiter: len(columns[delimiter]))


def _cut(line: str, delimiter: str) -> list[str]:
    try:
        return _splitter(delimiter)(line)
    except Malformed:
        return []


def _opener(delimiter: str) -> Callable[[bytes], object]:
    """Return a test whether a line ends inside a quoted field, so that the record continues on the next line."""
    mark = re.escape(delimiter.encode())
    # Complete fields, then an unclosed quote. A line with a stray quote does not match, so it cannot swallow the lines
    # after it.
    whole = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"%b]*+)%b' % (mark, mark)
    return re.compile(rb'(?:%b)*+"[^"]*+(?:""[^"]*+)*+' % whole).fullmatch


class _Columns(NamedTuple):
    total: int
    texts: tuple[int, ...]
    labels: int
    id: int
    weight: int


def _columns_of(header: list[str], delimiter: str, options: Options) -> _Columns:
    """Find the wanted columns. Raise an error if one is missing."""
    names = [name.strip() for name in header]

    def find(option: str, name: str | None) -> int:
        if name is None:
            return -1
        if name not in names:
            if option == "id_field" and name == FIELD_OPTIONS[option].default:
                return -1  # it was not requested
            reason = f"in the header: {missing_field(option, name, names)}{_hint(names, delimiter)}"
            raise Malformed(reason, fatal=True)
        if names.count(name) > 1:
            raise Malformed(f"the header has {names.count(name)} columns {name!r}; exactly one is needed", fatal=True)
        return names.index(name)

    texts = tuple(find("text_field", name) for name in text_fields(options))
    labels, number = find("labels_field", options["labels_field"]), find("id_field", options["id_field"])
    return _Columns(len(names), texts, labels, number, find("weight_field", options["weight_field"]))


def _hint(names: list[str], delimiter: str) -> str:
    """Return advice for a header without the wanted columns."""
    if names[0].startswith("sep="):
        return "; remove the first line, which only spreadsheets understand"
    if delimiter == "," and len(names) == 1 and re.search(r"[^\w\s-]", names[0]):
        return "; if another character separates the columns, name it with delimiter=..."
    if delimiter == "\t":
        return "; a file without a header is format 'labels-tsv' (labels first) or 'annif' (text first)"
    return ""


def _splitter(delimiter: str) -> Callable[[str], list[str]]:
    """Return a function that splits a row into fields."""
    mark = re.escape(delimiter)
    field = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{mark}]*+))({mark}|\Z)').match

    def split(line: str) -> list[str]:
        if '"' not in line:
            return line.split(delimiter)
        fields, end, more = [], 0, True
        while more:
            match = field(line, end)
            if match is None:
                raise Malformed(_quote_problem(line, end))
            fields.append(match[2] if match[1] is None else match[1].replace('""', '"'))
            end, more = match.end(), match[3] == delimiter
        return fields

    return split


def _quote_problem(line: str, start: int) -> str:
    if line[start] == '"' and line.count('"', start) % 2:
        return f"a quote opens {shown(line[start : start + 30])} but is never closed; end the field with a quote"
    where = "after a quoted field" if line[start] == '"' else "inside a field without quotes"
    return (
        f"a stray quote or text {where} at {shown(line[start : start + 30])}; "
        "quote the whole field and double each quote inside it"
    )


def _quoter(delimiter: str) -> Callable[[str], str]:
    """Return a function that quotes a field if necessary."""
    special = re.compile(f'["\n\r{re.escape(delimiter)}]').search

    def quoted(field: str) -> str:
        return '"' + field.replace('"', '""') + '"' if special(field) else field

    return quoted


CSV = Delimited("csv", "comma-separated values with a header row", ",", configurable=True)
TSV = Delimited("tsv", "tab-separated values with a header row", "\t", configurable=False)
