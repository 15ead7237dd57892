"""No function outgrows a screen."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "abound"
MOST_LINES = 60  # docstrings do not count, nor do signatures of commands, which are the tables of their options
TOO_LONG: set[str] = set()
MOST_ARGUMENTS = 10  # of what Python calls in a kernel
CYTHON = re.compile(r"(?:def|cpdef|cdef(?! (?:class|enum|struct|extern|union|packed)\b))\b[^#=]*?(\w+)\s*\(")
DOCSTRING = re.compile(r'\s*r?("""|\'\'\')')


def python_functions(source: str, *, is_command: bool = False) -> Iterator[tuple[str, int]]:
    """Yield the name and the lines of each function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            if is_command:
                lines -= node.body[0].lineno - node.lineno
            yield node.name, lines


def cython_functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name and the lines of each function: from its first line to the last that is indented below it."""
    lines = source.splitlines()
    for start, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        found = CYTHON.match(line.strip())
        if found is None:
            continue
        opened, body = 0, start
        while True:  # a signature may have several lines
            opened += lines[body].count("(") - lines[body].count(")")
            body += 1
            if opened <= 0 or body == len(lines):
                break
        if not lines[body - 1].partition("#")[0].rstrip().endswith(":"):
            continue  # a declaration
        end = body
        for place in range(body, len(lines)):
            if lines[place].strip():
                if len(lines[place]) - len(lines[place].lstrip()) <= indent:
                    break
                end = place + 1
        yield found[1], end - start - docstring_lines(lines[body:end])


def docstring_lines(body: list[str]) -> int:
    """Return how many lines of a body are its docstring."""
    quotes = DOCSTRING.match(body[0]) if body else None
    if quotes is None:
        return 0
    if body[0].count(quotes[1]) > 1:
        return 1
    return 1 + next(place for place, line in enumerate(body[1:], 1) if quotes[1] in line)


def functions() -> Iterator[tuple[str, int]]:
    for path in sorted(SOURCES.rglob("*.p*")):
        file, source = path.relative_to(SOURCES).as_posix(), path.read_text() if path.suffix != ".pyc" else ""
        if path.suffix == ".py":
            found = python_functions(source, is_command=file.startswith("cli/"))
        elif path.suffix in (".pyx", ".pxd"):
            found = cython_functions(source)
        else:
            continue
        for name, lines in found:
            yield f"{file}: {name}", lines


def test_no_function_has_more_than_sixty_lines():
    found = list(functions())
    assert len(found) > 1000
    long = {name: lines for name, lines in found if lines > MOST_LINES}
    assert long.keys() - TOO_LONG == set(), long


def test_every_exception_is_still_needed():
    assert {name for name, lines in functions() if lines > MOST_LINES} >= TOO_LONG


CLASS = """\
cdef class Table:
    cdef int n
    def get(self):
        return 1

    cdef int put(self) noexcept:

        return 2
"""
SIGNATURE = """\
cdef inline double score(
    int a,  # (x)
    int b,
) noexcept nogil:
    '''Add.

    Both.'''
    if a:
        return a

    return b


cdef int later(int a)
"""


@pytest.mark.parametrize(("source", "found"), [(CLASS, [("get", 2), ("put", 3)]), (SIGNATURE, [("score", 8)])])
def test_lines_of_cython_are_counted(source, found):
    assert list(cython_functions(source)) == found


def test_lines_of_python_are_counted():
    source = 'async def f(\n    a,\n):\n    """Do.\n\n    It.\n    """\n    return a\n'
    assert list(python_functions(source)) == [("f", 4)]
    assert list(python_functions(source, is_command=True)) == [("f", 1)]


@pytest.mark.parametrize("path", sorted(SOURCES.glob("kernels/*.pyx")), ids=lambda path: path.name)
def test_no_entry_of_a_kernel_has_many_arguments(path):
    entries = re.findall(r"^ *def (\w+)\(([^)]*)\)", path.read_text(), flags=re.MULTILINE)
    counts = {}
    for name, given in entries:
        arguments = re.sub(r"\[[^]]*\]", "", given).split(",")  # without the axes of arrays
        counts[name] = len([argument for argument in arguments if argument.strip(" *\n") not in ("", "self")])
    assert {name: count for name, count in counts.items() if count > MOST_ARGUMENTS} == {}
