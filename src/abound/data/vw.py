"""The multi-label text format of Vowpal Wabbit: 'l1,l2 'tag|ns word word:2.5'.

The format has no escaping. A bar, a colon or a space in a name would change the meaning of the line, so names that
contain one are rejected.
"""

import math
from collections.abc import Callable, Iterator
from itertools import groupby

from abound.data.formats import LineFormat, Malformed, Options
from abound.data.parsing import ASCII_SPACE, Guard, labels_of, number_text, parse_float, shown
from abound.data.records import NamedRow
from abound.data.svmlight import RENAME

_NAMESPACE = "^"  # as Vowpal Wabbit prints it between namespace and feature


class VowpalWabbit(LineFormat[NamedRow]):
    """Labels, an optional tag, and named features in namespaces."""

    name = "vw"
    summary = "l1,l2 'tag|namespace word word:2.5"
    record = NamedRow
    suffixes = (".vw",)

    def parser(self, options: Options) -> Callable[[str], NamedRow | None]:  # noqa: ARG002
        """Return a function that parses a line into a row."""
        return _parse

    def formatter(self, options: Options) -> Callable[[NamedRow], str]:  # noqa: ARG002
        """Return a function that formats a row as a line."""
        special = rf"|\0{ASCII_SPACE}"
        label = Guard(self.name, "label", f",:{special}", RENAME)
        tag = Guard(self.name, "id", special, "rename the document")
        feature = Guard(self.name, "feature", f":{special}", "replace it in the name")

        def line_of(row: NamedRow) -> str:
            if len(row.names) != len(row.values):
                raise ValueError(f"the row has {len(row.names)} names and {len(row.values)} values")
            if row.labels and row.labels[0].startswith("'"):
                raise ValueError(f"the label {shown(row.labels[0])} starts with a quote, as tags do; {RENAME}")
            head = ",".join(map(label, row.labels))
            if row.id is not None:
                head += f" '{tag(row.id)}" if head else f"'{tag(row.id)}"
            elif head:
                head += " "
            return head + "".join(_written(row, feature))

        return line_of


def _written(row: NamedRow, feature: Guard) -> Iterator[str]:
    """Yield the namespaces of a row, each with its bar."""
    if not row.names:
        yield "|"
    pairs = zip(map(feature, row.names), row.values, strict=True)
    for namespace, group in groupby(pairs, key=lambda pair: _split_name(pair[0])[0]):
        words = [
            name if value == 1 else f"{name}:{number_text(value)}"
            for name, value in ((_split_name(full)[1], value) for full, value in group)
        ]
        yield f"|{namespace} {' '.join(words)} "


def _split_name(name: str) -> tuple[str, str]:
    namespace, mark, feature = name.partition(_NAMESPACE)
    if not mark:
        return "", name
    if not namespace or not feature:
        raise ValueError(f"the feature {shown(name)} must be 'name' or 'namespace{_NAMESPACE}name'")
    return namespace, feature


def _parse(line: str) -> NamedRow | None:
    if not line or line.isspace():
        return None
    head, bar, body = line.partition("|")
    if not bar:
        raise Malformed("no bar '|' in the line; put one between the labels and the features")
    labels, tag = _head(head)
    names: list[str] = []
    values: list[float] = []
    for part in body.split("|"):
        _namespace(part, names, values)
    return NamedRow(labels, tuple(names), tuple(values), tag)


def _head(head: str) -> tuple[tuple[str, ...], str | None]:
    """Parse labels and tag. A tag touches the bar or starts with a quote."""
    words = _words(head)
    tag = None
    if words and (words[-1][0] == "'" or head[-1] not in " \t"):
        tag = words.pop().removeprefix("'")
        if not tag:
            raise Malformed("the tag before the bar is empty; a name must follow the quote")
    if len(words) > 1:
        raise Malformed(f"{len(words)} words before the bar; write 'l1,l2' and optionally a tag")
    text = words[0] if words else ""
    if ":" in text:
        raise Malformed(f"{shown(text)} has a cost; write labels without costs, such as '1,2'")
    return labels_of(text, ","), tag


def _namespace(part: str, names: list[str], values: list[float]) -> None:
    """Add the features of the text between two bars."""
    words = _words(part)
    prefix, scale = "", 1.0
    if part and part[0] not in " \t":
        namespace, colon, number = words.pop(0).partition(":")
        if not namespace:
            raise Malformed("the namespace after a bar is empty; put a name or a space there")
        prefix = namespace + _NAMESPACE
        if colon:
            scale = parse_float(number, f"the scale of namespace {shown(namespace)}")
    for word in words:
        name, colon, number = word.partition(":")
        if not name:
            raise Malformed(f"feature {shown(word)} has no name; write 'name' or 'name:value'")
        value = parse_float(number, f"the value of feature {shown(word)}") * scale if colon else scale
        if not math.isfinite(value):
            raise Malformed(f"the value of feature {shown(word)} times the scale {scale} must be finite")
        names.append(prefix + name)
        values.append(value)


def _words(text: str) -> list[str]:
    # Not str.split, because a name may contain a no-break space.
    return [word for word in text.replace("\t", " ").split(" ") if word]


FORMAT = VowpalWabbit()
