"""The page `/docs`: the OpenAPI document as HTML without scripts."""

import html
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from abound.server.http.examples import body_example, query_example

ADDRESS = "http://127.0.0.1:8000"  # of the examples
METHODS = ("get", "post", "put", "patch", "delete")
OWN = "abound"  # the interface of endpoints whose summary names no other program
SCOPES = {
    None: "This endpoint needs no key.",
    "read": "If the server has keys, the key needs the scope read.",
    "learn": "If the server has keys, the key needs the scope learn.",
    "admin": "If the server has keys, the key needs the scope admin.",
}
_FILES = {"application/pdf": "report.pdf", "text/plain": "report.txt", "text/html": "report.html"}
_LIMITS = (("minLength", "maxLength", "characters"), ("minItems", "maxItems", "items"), ("minimum", "maximum", ""))
Schema = Mapping[str, Any]


def reference_page(document: Mapping[str, Any]) -> bytes:
    """Return the page of an OpenAPI document; its style is `static/reference.css`.

    Parameters
    ----------
    document : dict
        From `openapi` or `openapi_of_models`.
    """
    operations = list(_operations(document))
    info = document["info"]
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>HTTP API of {_text(info['title'])}</title>\n"
        '<link rel="icon" href="static/icon.svg" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="static/reference.css">\n</head>\n<body>\n',
        f"<header><h1>HTTP API of {_text(info['title'])}</h1>\n"
        f"<p>{_text(info['description'])} Version {_text(info['version'])}. Requests and answers are JSON unless an "
        'endpoint says otherwise. <a href="openapi.json">openapi.json</a> has the same for programs.</p></header>\n',
        _contents(operations),
        "<main>\n",
        *(_section(operation) for operation in operations),
        "<h2>Types</h2>\n",
        *(_type_section(name, schema) for name, schema in sorted(document["components"]["schemas"].items())),
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts).encode()


class _Operation:
    """A method of a path, with what the document says about both."""

    def __init__(self, method: str, path: str, item: Mapping[str, Any], components: Mapping[str, Schema]) -> None:
        self.method = method.upper()
        self.path = path
        self.about: Mapping[str, Any] = item[method]
        self.parameters = [*item.get("parameters", ()), *self.about.get("parameters", ())]
        self.components = components
        whole = str(self.about["summary"])
        program, colon, summary = whole.partition(": ")
        self.program, self.summary = (program, summary) if colon else (OWN, whole)
        self.anchor = f"{method}-{re.sub('[^a-z0-9]+', '-', path.lower()).strip('-')}".rstrip("-")

    @property
    def title(self) -> str:
        """The summary as a sentence."""
        first = self.summary[:1].upper() + self.summary[1:]
        return first if first.endswith(("?", ".")) else f"{first}."


def _operations(document: Mapping[str, Any]) -> Iterator[_Operation]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield _Operation(method, path, item, document["components"]["schemas"])


def _contents(operations: Iterable[_Operation]) -> str:
    by_program: dict[str, list[_Operation]] = {}
    for operation in operations:
        by_program.setdefault(operation.program, []).append(operation)
    parts = ['<nav aria-label="Endpoints">\n']
    for program, found in by_program.items():
        heading = "Endpoints" if program == OWN else f"Endpoints of {program}"
        items = "".join(
            f'<li><a href="#{one.anchor}"><b>{one.method}</b> {_text(one.path)}</a></li>\n' for one in found
        )
        parts.append(f"<h2>{_text(heading)}</h2>\n<ul>\n{items}</ul>\n")
    return "".join([*parts, "</nav>\n"])


def _section(operation: _Operation) -> str:
    about = operation.about
    program = "" if operation.program == OWN else f" It speaks the protocol of {_text(operation.program)}."
    parts = [
        f'<section id="{operation.anchor}">\n<h2><span class="method">{operation.method}</span> '
        f"<code>{_text(operation.path)}</code></h2>\n"
        f"<p>{_prose(operation.title)}{program} {SCOPES[about.get('x-scope')]}</p>\n"
    ]
    if operation.parameters:
        rows = [
            (
                f"<code>{_text(one['name'])}</code>",
                _text(one["in"]),
                _kind(one["schema"]),
                _meaning({**one["schema"], **one}, is_required=one.get("required", False)),
            )
            for one in operation.parameters
        ]
        parts.append("<h3>Parameters</h3>\n" + _table(("name", "in", "type", "meaning"), rows))
    if "requestBody" in about:
        parts.append(_body(operation))
    parts.append("<h3>Answers</h3>\n" + _table(("status", "meaning", "content"), _answers(about["responses"])))
    parts.append(f"<h3>Example</h3>\n<pre><code>{_text(curl_of(operation))}</code></pre>\n</section>\n")
    return "".join(parts)


def _body(operation: _Operation) -> str:
    body = operation.about["requestBody"]
    media_types = ", ".join(f"<code>{_text(media_type)}</code>" for media_type in body["content"])
    limit = f", at most {body['x-limit'] / 2**20:,.4g} MiB" if "x-limit" in body else ""
    schema = next(iter(body["content"].values())).get("schema")
    parts = [f"<h3>Body</h3>\n<p>{media_types}{limit}</p>\n"]
    if schema is not None:
        fields = _resolved(schema, operation.components)
        parts.append(_fields(fields) if "properties" in fields else f"<p>{_kind(schema)}</p>\n")
    return "".join(parts)


def _answers(responses: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return one row for each answer; the problems, which have the same content, share one."""
    problems = []
    for status, response in responses.items():
        content = response.get("content", {})
        if "application/problem+json" in content:
            problems.append((status, response["description"]))
            continue
        described = [
            f"<code>{_text(media_type)}</code> {_kind(one['schema']) if one.get('schema') else ''}".strip()
            for media_type, one in content.items()
        ]
        yield _text(status), _text(response["description"]), "<br>".join(described) or "-"
    if problems:
        statuses = "<br>".join(_text(status) for status, _ in problems)
        meanings = "<br>".join(_text(meaning) for _, meaning in problems)
        yield statuses, meanings, f"<code>application/problem+json</code> {_link('ProblemBody')}"


def _type_section(name: str, schema: Schema) -> str:
    description = f"<p>{_prose(schema['description'])}</p>\n" if schema.get("description") else ""
    fields = _fields(schema) if schema.get("properties") else f"<p>{_kind(schema)}</p>\n"
    return f'<section id="type-{_text(name)}">\n<h3>{_text(name)}</h3>\n{description}{fields}</section>\n'


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (f"<code>{_text(name)}</code>", _kind(field), _meaning(field, is_required=name in required))
        for name, field in schema["properties"].items()
    ]
    return _table(("field", "type", "meaning"), rows)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{_text(one)}</th>' for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n"


# -- types -------------------------------------------------------------------------------------------


def _resolved(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    reference = schema.get("$ref")
    return schema if reference is None else components[reference.rpartition("/")[2]]


def _link(name: str) -> str:
    return f'<a href="#type-{_text(name)}">{_text(name)}</a>'


def _kind(schema: Schema) -> str:
    """Return the type of a schema with its limits, as HTML."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[several]))
    if "enum" in schema:
        return " or ".join(f"<code>{_text(json.dumps(value))}</code>" for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        items, prefix = schema.get("items"), schema.get("prefixItems")
        inner = ", ".join(map(_kind, prefix)) if prefix else _kind(items) if items else "any"
        return f"array of {inner}{_limits(schema)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    return f"{_text(kind)}{_limits(schema)}"


def _limits(schema: Schema) -> str:
    """Return the limits of a schema.

    Examples
    --------
    >>> _limits({"type": "integer", "minimum": 1, "maximum": 1000}), _limits({"type": "string", "maxLength": 200})
    (', 1 to 1,000', ', at most 200 characters')
    """
    for low, high, unit in _LIMITS:
        least = schema.get(low, schema.get("exclusiveMinimum") if low == "minimum" else None)
        most = schema.get(high)
        if most is not None and abs(most) >= 2**53:  # the range of the type itself
            return ""
        if least is not None and most is not None:
            return (
                f", {least:,g} to {most:,g} {unit}".rstrip()
                if most < 1e6
                else f", {least:,} to {most:,} {unit}".rstrip()
            )
        if most is not None:
            return f", at most {most:,} {unit}".rstrip()
        if least is not None:
            return f", at least {least:,} {unit}".rstrip()
    return ""


def _meaning(schema: Schema, *, is_required: bool) -> str:
    parts = [_prose(schema["description"])] if schema.get("description") else []
    if is_required:
        parts.append("Required.")
    elif schema.get("default") not in (None, "", [], (), {}):
        parts.append(f"Default: <code>{_text(json.dumps(schema['default']))}</code>.")
    return " ".join(parts)


# -- examples ----------------------------------------------------------------------------------------


def curl_of(operation: _Operation) -> str:
    """Return a command that calls an endpoint."""
    query = query_example(operation.parameters)
    words = ["curl", "--silent"]
    if "requestBody" not in operation.about and operation.method != "GET":
        words += ["--request", operation.method]
    if operation.about.get("x-scope"):
        words += ["--header", "Authorization: Bearer $ABOUND_KEY"]
    if "requestBody" in operation.about:
        words += _body_words(operation)
    path = operation.path.replace("{model}", "subjects")
    return " ".join([*map(_quoted, words), _quoted(f"{ADDRESS}{path}{query}")])


def _body_words(operation: _Operation) -> list[str]:
    media_type, content = next(iter(operation.about["requestBody"]["content"].items()))
    method = [] if operation.method == "POST" else ["--request", operation.method]
    if "schema" not in content:
        return [
            *method,
            "--header",
            f"Content-Type: {media_type}",
            "--data-binary",
            f"@{_FILES.get(media_type, 'FILE')}",
        ]
    body = body_example(content["schema"], operation.components)
    if media_type == "application/json":
        return [*method, "--json", json.dumps(body, ensure_ascii=False)]
    return [*method, *(word for name, value in body.items() for word in ("--data-urlencode", f"{name}={value}"))]


def _quoted(word: str) -> str:
    """Quote a word for a shell, which still replaces the key."""
    return f'"{word}"' if "$ABOUND_KEY" in word else shlex.quote(word)


# -- text --------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    return html.escape(str(value))


def _prose(text: str) -> str:
    """Return a description as HTML; what is between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))
