"""Generate the reference of the package from the importable objects and their docstrings.

It uses the numpydoc parser of griffe, and not mkdocstrings, which reads sources: it would miss names that are resolved
on first use, and estimators whose docstring comes from their ranker.
"""

import enum
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

import griffe

from abound.rankers import Ranker
from docs_build.names import PAGES, public

ORDINARY = {"__call__", "__getitem__", "__iter__", "__len__"}

CHOICES = re.compile(r"^(\w+ : )(\w+) or \{(.*)\}$", re.MULTILINE)  # griffe would keep only "None or"


def pages() -> dict[str, str]:
    """Return the text of every page of the reference by its name."""
    sections: dict[str, list[str]] = {name: [] for name in PAGES}
    for page, name, found in sorted(public(), key=_place):
        sections[page].append(describe(name, found))
    return {
        name: f"# {title}\n\n{summary}\n\n" + "\n\n".join(sections[name]) + "\n"
        for name, (title, summary) in PAGES.items()
        if sections[name]
    }


def _place(entry: tuple[str, str, Any]) -> tuple[bool, bool, bool, str]:
    """Order names on their page: the name of the page, names of `abound` itself, other names, and errors last."""
    page, name, found = entry
    is_error = isinstance(found, type) and issubclass(found, BaseException)
    return is_error, name.lower() != f"abound.{page}", name.count(".") > 1, name.lower()


def describe(name: str, found: Any) -> str:
    """Return the section of one name."""
    parts = [f"## {name}"]
    if not callable(found):
        return "\n\n".join([*parts, _constant(found)])
    if not isinstance(found, type) or not issubclass(found, BaseException):
        parts.append(_signature(name, found))
    parts += sections_of(found)
    if isinstance(found, type):
        inherited = []
        for member, function in _methods(found):
            if found is not Ranker and issubclass(found, Ranker) and getattr(Ranker, member, None) is not None:
                inherited.append(f"`{member}`")
            else:
                parts += [f"### {_plain(member)}", _signature(member, function), *sections_of(function)]
        if inherited:
            parts.append(f"As in [`Ranker`](rankers.md#aboundrankersranker): {', '.join(inherited)}.")
    return "\n\n".join(parts)


def sections_of(found: Any) -> list[str]:
    """Return the docstring of an object as Markdown."""
    text = inspect.getdoc(found) or ""
    if isinstance(found, type) and "__doc__" not in vars(found):
        text = ""
    text = CHOICES.sub(r"\1\2, \3", text)
    defaults = _defaults(found)
    parts = []
    for section in griffe.Docstring(text).parse(griffe.Parser.numpy, warnings=False):
        kind = section.kind.value
        if kind in ("parameters", "attributes", "other parameters", "returns", "yields", "raises"):
            parts.append(_table(kind, section.value, defaults))
        elif kind == "examples":
            parts += [_example(inner, text) for inner, text in section.value]
        elif kind == "text":
            parts.append(_admonished(section.value))
        else:
            parts.append(f"**{section.title or kind.title()}**: {_prose(str(section.value.contents))}")
    return parts


def _table(kind: str, rows: Any, defaults: dict[str, Any]) -> str:
    named = kind in ("parameters", "attributes", "other parameters")
    if not named and not any(getattr(row, "name", "") for row in rows):  # what is returned or raised has only a type
        lines = [f"| {kind} | meaning |", "|---|---|"]
        return "\n".join([*lines, *(f"| {_kind(row)} | {_cell(_prose(row.description))} |" for row in rows)])
    lines = [f"| {kind[:-1] if named else kind} | type | meaning |", "|---|---|---|"]
    for row in _together(rows):
        names = row.name.split(", ") if getattr(row, "name", "") else []
        name = ", ".join(f"`{one}`" for one in names)
        beside = _beside([defaults[one] for one in names if named and one in defaults], row.description)
        lines.append(f"| {name} | {_kind(row)} | {_cell(_prose(row.description))}{beside} |")
    return "\n".join(lines)


def _beside(defaults: list[Any], description: str) -> str:
    """Return the defaults of the parameters of a row as a sentence."""
    shown = [default for default in defaults if default is not inspect.Parameter.empty]
    if not shown or ("default" in description and not any(default is not None for default in shown)):
        return ""
    values = ", ".join(f"`{_cell(_value(default))}`" for default in shown)
    return f" Default{'s' if len(shown) > 1 else ''}: {values}."


def _plain(name: str) -> str:
    """Return a name as Markdown that does not read `__len__` as bold."""
    return name.replace("__", r"\_\_")


def _together(rows: Any) -> list[Any]:
    """Return rows with those that one entry describes as one row: `text, labels : str`."""
    found: list[Any] = []
    for row in rows:
        last = found[-1] if found else None
        same = last and (last.annotation, last.description) == (row.annotation, row.description)
        if same and row.description and getattr(row, "name", ""):
            last.name = f"{last.name}, {row.name}"
        else:
            found.append(row)
    return found


def _kind(row: Any) -> str:
    return _cell(str(row.annotation or "")).replace("*", "\\*")


def _example(kind: Any, text: str) -> str:
    return f"```pycon\n{text}\n```" if kind.value == "examples" else text


def _admonished(text: str) -> str:
    """Return prose; griffe leaves unknown sections, such as References, unchanged."""
    head, _, rest = text.partition("\n\nReferences\n")
    if rest:
        return f"{head}\n\n**Reference**: {_prose(rest.lstrip('-').strip())}"
    return text


def _methods(found: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers(found):
        if name.startswith("_") and name not in ORDINARY:
            continue
        home = getattr(inspect.unwrap(member) if callable(member) else member, "__module__", None)
        if isinstance(member, property):
            if (getattr(member.fget, "__module__", "") or "").startswith("abound"):
                yield name, member
        elif inspect.isroutine(member) and (home or "").startswith("abound"):
            yield name, member


def _defaults(found: Any) -> dict[str, Any]:
    try:
        return {name: p.default for name, p in inspect.signature(found).parameters.items()}
    except (TypeError, ValueError):
        return {}


def _signature(name: str, found: Any) -> str:
    if isinstance(found, property):
        return "*A property.*"
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown = [
        str(p.replace(annotation=inspect.Parameter.empty, default=_Shown(_value(p.default))))
        if p.default is not inspect.Parameter.empty
        else str(p.replace(annotation=inspect.Parameter.empty))
        for p in parameters
        if p.name not in ("self", "cls")
    ]
    star = next(
        (i for i, p in enumerate(p for p in parameters if p.name not in ("self", "cls")) if p.kind is p.KEYWORD_ONLY),
        None,
    )
    if star is not None and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        shown.insert(star, "*")
    called = name.rpartition(".")[2]
    one = f"{called}({', '.join(shown)})"
    if len(one) > 100:
        one = f"{called}(\n" + "".join(f"    {part},\n" for part in shown) + ")"
    return f"```text\n{one}\n```"


class _Shown:
    """A default value as a signature shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _value(default: Any) -> str:
    if isinstance(default, enum.Enum):
        return str(default)
    text = re.sub(r"<class '([\w.]+)'>", r"\1", repr(default))
    is_useful = " at 0x" not in text and text != "<factory>"  # an address differs in every build
    return text if is_useful else "..."


def _constant(found: Any) -> str:
    if isinstance(found, types.UnionType):
        return "Any of " + ", ".join(f"`{kind.__name__}`" for kind in found.__args__) + "."
    if isinstance(found, types.ModuleType) or not isinstance(found, Iterable):
        return f"`{found!r}`"
    names = ", ".join(f"`{name}`" for name in found)
    return f"{'A table of' if isinstance(found, dict) else 'One of'} {names}."


def _prose(text: str) -> str:
    """Return one line of Markdown, with angle brackets escaped."""
    parts = re.split(r"(`+[^`]*`+)", " ".join(str(text or "").split()))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
