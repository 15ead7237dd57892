"""Find words that the documentation avoids, and name the standard term: python -m docs_build.wording.

`wording.txt` has one entry per line: a regular expression, a tab, and the standard term. A space in the expression also
matches a line break. Checked are README and the other documents at the top, the pages of docs, the help of every
command, and the docstrings of src. Code, link targets and quotations are not checked.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("wording.txt")
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
GENERATED_OR_QUOTING = ("papers/", "peers/")  # below docs
NOT_PROSE = re.compile(
    r"^(?P<fence> *```).*?^ *```|``[^`]+``|`[^`\n]+`|<!--.*?-->|\]\([^)]*\)|^>[^\n]*|\"[^\"\n]{1,80}\"",
    re.DOTALL | re.MULTILINE,
)
CYTHON_DOCSTRING = re.compile(r'^\s*"""(.*?)"""', re.DOTALL | re.MULTILINE)


class Entry(NamedTuple):
    """A word to avoid and its standard term."""

    pattern: re.Pattern[str]
    instead: str


class Text(NamedTuple):
    """A text to check, with the file and the line where it begins."""

    file: str
    line: int
    text: str


def entries(path: Path = LIST) -> list[Entry]:
    """Read the list of words to avoid."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split("\t") for line in lines]
    return [Entry(_whole(word.replace(" ", r"(?:[ \t]+|[ \t]*\n[ \t]*)")), instead) for word, instead in pairs]


def _whole(expression: str) -> re.Pattern[str]:
    """Return a pattern that matches whole words only."""
    return re.compile(rf"(?<![\w-])(?:{expression})(?![\w-])", re.IGNORECASE)


def pages(root: Path = ROOT) -> Iterator[Text]:
    """Yield the documents at the top, the pages of docs, and the examples."""
    docs = root / "docs"
    below = [p for p in sorted(docs.rglob("*.md")) if not str(p.relative_to(docs)).startswith(GENERATED_OR_QUOTING)]
    for path in [*(root / name for name in TOP), *below, *sorted((root / "examples").rglob("*.md"))]:
        if path.exists():
            yield Text(str(path.relative_to(root)), 1, path.read_text())


def docstrings(root: Path = ROOT) -> Iterator[Text]:
    """Yield the docstrings of src, of Python and of Cython."""
    for path in sorted((root / "src").rglob("*.py")):
        file = str(path.relative_to(root))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                match node.body:
                    case [ast.Expr(ast.Constant(str(text)) as string), *_]:
                        yield Text(file, string.lineno, text)
    for path in sorted(p for p in (root / "src").rglob("*.p[yx][xd]")):
        source = path.read_text()
        for match in CYTHON_DOCSTRING.finditer(source):
            yield Text(str(path.relative_to(root)), source.count("\n", 0, match.start(1)) + 1, match[1])


def help_texts(commands: Iterator[tuple[tuple[str, ...], Any]] | None = None) -> Iterator[Text]:
    """Yield the help of every command, and of every argument and option under its name."""
    if commands is None:
        from docs_build import commands as reference  # the command line is slow to import

        commands = reference.walk()
    for path, command in commands:
        name = f"{' '.join(path)} --help"
        yield Text(name, 1, command.help or "")
        yield Text(f"{name}, epilog", 1, command.epilog or "")
        for parameter in command.params:
            yield Text(f"{name}, {parameter.opts[0]}", 1, getattr(parameter, "help", "") or "")


def problems(texts: Iterator[Text], words: list[Entry]) -> Iterator[str]:
    """Yield one message per occurrence: file, line, word and standard term."""
    for file, line, text in texts:
        prose = NOT_PROSE.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), text)
        for word in words:
            for match in word.pattern.finditer(prose):
                at = line + prose.count("\n", 0, match.start())
                yield f"{file}:{at}: write {word.instead!r} instead of {' '.join(match[0].split())!r}"


def check() -> list[str]:
    """Return all messages for this repository."""
    words = entries()
    return [message for texts in (pages(), docstrings(), help_texts()) for message in problems(texts, words)]


if __name__ == "__main__":
    if messages := check():
        sys.exit("\n".join(messages))
