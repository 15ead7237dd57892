"""Write the page of error messages from the source: python -m docs_build.errors prints it.

`errors.toml` lists the classes and messages to show, each with its cause and its remedy. The text of a message is taken
from the source, where it must occur exactly once, so that the page is never out of date.
"""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from abound import errors

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "abound"
LIST = Path(__file__).with_name("errors.toml")
NOT_SHOWN = {"join", "len", "type", "str", "decode"}  # functions in the expressions of messages
HEAD = """# Errors and what to do

What a command prints after `abound:`, what the server answers as `detail`, and the exceptions of Python. Words in
italics stand for your own names and numbers. A command ends with exit code 1 after an error, and with 2 if its options
are wrong. Find your message with the search, or in the browser with Ctrl-F.
"""
CLASSES_HEAD = """
## Exceptions and warnings

`abound.errors` has the exceptions. All inherit from `AboundError`, so `except AboundError` catches them. Invalid
arguments raise `ValueError` and `TypeError`, as in scikit-learn. Warnings inherit from `AboundWarning`; a command
prints them as notes.

| class | what happened | what to do |
|---|---|---|
"""


OPTIONAL = ("hint", "found", "field", "options")  # parts that a message has only sometimes


class Message(NamedTuple):
    """One message of the source: its text, with the expressions in it as names in angle brackets."""

    file: str
    line: int
    text: str


def messages(folder: Path = SOURCE) -> Iterator[Message]:
    """Yield every text of at least three words in the source that is not a docstring."""
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text())
        other = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        other |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in other
                and node.value.count(" ") > 1
            ):
                yield Message(str(path.relative_to(folder.parents[1])), node.lineno, template(node))


def template(node: ast.JoinedStr | ast.Constant) -> str:
    """Return the text of a string; the expressions of an f-string become names in angle brackets.

    Examples
    --------
    >>> template(ast.parse("f'{path} has {n:,} rows'").body[0].value)
    '<path> has <n> rows'
    """
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = []
    for part in node.values:
        parts.append(str(part.value) if isinstance(part, ast.Constant) else f"<{_name(part)}>")
    return "".join(parts)


def _name(part: Any) -> str:
    """Return a readable name for an expression in an f-string."""
    names = [node.id for node in ast.walk(part.value) if isinstance(node, ast.Name) and node.id != "self"]
    names += [node.attr for node in ast.walk(part.value) if isinstance(node, ast.Attribute)]
    names = [name for name in names if not name.startswith("_") and name not in NOT_SHOWN]
    return re.sub(r"_+", " ", names[-1]).strip().lower() if names else "..."


class Entry(NamedTuple):
    """One row of the page: a message, its cause and its remedy."""

    message: Message
    cause: str
    remedy: str


def listed(path: Path = LIST) -> dict[str, Any]:
    """Read the list of what the page shows."""
    return tomllib.loads(path.read_text())


def find(fragment: str, found: list[Message]) -> Message:
    """Return the message that is equal to a text, or the only one that contains it; raise LookupError otherwise."""
    whole = {message.text: message for message in found if fragment == message.text}
    matches = whole or {message.text: message for message in found if fragment in message.text}
    if len(matches) != 1:
        raise LookupError(f"{len(matches)} messages of the source contain {fragment!r}; errors.toml must name one")
    return next(iter(matches.values()))


def groups() -> dict[str, list[Entry]]:
    """Return the messages to show, by task."""
    found = list(messages())
    return {
        group["task"]: [Entry(find(row["message"], found), row["cause"], row["remedy"]) for row in group["rows"]]
        for group in listed()["group"]
    }


def classes() -> dict[str, type]:
    """Return the public exceptions and warnings of abound.errors."""
    return {
        name: one
        for name, one in vars(errors).items()
        if inspect.isclass(one) and one.__module__ == errors.__name__ and not name.startswith("_")
    }


def as_markdown(text: str) -> str:
    """Return a message as Markdown: text, with the parts that differ in italics."""
    for name in OPTIONAL:
        text = text.replace(f"<{name}>", "")
    text = re.sub(r"([|*\\`\[\]])", r"\\\1", text.replace("&", "&amp;"))
    return re.sub(r"<([^<>]+)>", r"<em>\1</em>", text)


def page() -> str:
    """Return the page."""
    lines = [HEAD]
    for task, rows in groups().items():
        lines += [f"## {task}\n", "| message | why | what to do |", "|---|---|---|"]
        lines += [f"| {as_markdown(row.message.text)} | {row.cause} | {row.remedy} |" for row in rows]
        lines.append("")
    remedies = listed()["classes"]
    lines.append(CLASSES_HEAD.strip())
    for name, one in classes().items():
        first = (one.__doc__ or "").strip().partition("\n")[0]
        lines.append(f"| `{name}` | {first} | {remedies[name]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
