"""Plain text of the sections of a manual page, from its source in the man or mdoc macros of roff."""

import re
import shlex
from collections.abc import Iterable, Iterator

FONTS = ("B", "I", "SM", "SB", "SS", "Ss", "Nd")  # their arguments are words
ALTERNATING = ("BR", "RB", "IR", "RI", "BI", "IB")  # their arguments are parts of one word
BLOCKS = {"de": ".", "de1": ".", "ig": ".", "TS": "TE", "EQ": "EN", "PS": "PE"}  # skipped, with their last line
# Macros of mdoc whose arguments are words of the text; these macros may also be arguments.
_MDOC = """
Ad An Ao Ac Ap Aq Ar At Bo Bc Bq Bro Brc Brq Bsx Bx Cd Cm D1 Do Dc Dl Dq Dv Dx Em Er Ev Fa Fl Fn Fr Ft Fx Ic In It Li
Lk Ms Mt Nm No Ns Nx Op Ox Pa Pf Po Pc Pq Ql Qo Qc Qq So Sc Sq St Sx Sy Tn Va Vt Xo Xc
"""
MDOC = frozenset(_MDOC.split())
CHARACTERS = {
    "lq": '"',
    "rq": '"',
    "oq": "'",
    "cq": "'",
    "aq": "'",
    "dq": '"',
    "em": " - ",
    "en": "-",
    "mi": "-",
    "hy": "-",
}
ESCAPES = re.compile(
    r"""\\(?:(?P<drop>f(?:\[[^\]]*\]|\(..|.) | s(?:\[[^\]]*\]|\(..|[-+]?\d) | [mMFY](?:\[[^\]]*\]|\(..|.)
    | [hvwNXDlLRoZ]'[^']*' | k. | [&|^/,!:%c{}pdur)] | \n | $)
    | \((?P<two>..) | \[(?P<long>[^\]]*)\] | (?P<string>[*n](?:\[[^\]]*\]|\(..|.))
    | (?P<one>.))""",
    re.VERBOSE,
)
COMMENT = re.compile(r"""(?<!\\)\\["#].*$""")


def _escape(found: re.Match[str]) -> str:
    if found["drop"] is not None:
        return ""
    if found["string"] is not None:
        return CHARACTERS.get(found["string"][1:].strip("[]("), "")
    if found["one"] is None:
        return CHARACTERS.get(found["two"] or found["long"], "")
    return {"-": "-", "e": "\\", "~": " ", " ": " ", "0": " ", "t": " ", "'": "'", "`": "`"}.get(
        found["one"], found["one"]
    )


def plain(text: str) -> str:
    """Return text without escape sequences."""
    return ESCAPES.sub(_escape, text)


def _arguments(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\", "\\\\").replace("'", "\\'"))
    except ValueError:  # a quotation mark without another
        return text.replace('"', "").split()


def _mdoc(macro: str, arguments: list[str], name: str) -> str:
    if macro == "Nm" and not arguments:
        return name
    if macro == "Xr" and len(arguments) > 1:
        return f"{arguments[0]}({arguments[1]}) {' '.join(arguments[2:])}"
    return " ".join(argument for argument in arguments if argument not in MDOC)


def control(macro: str, rest: str, name: str) -> str:
    """Return the text that a line with a macro adds."""
    arguments = _arguments(rest)
    if macro in ALTERNATING:
        return "".join(arguments)
    if macro in FONTS:
        return " ".join(arguments)
    return _mdoc(macro, arguments, name) if macro in MDOC or macro == "Xr" else ""


def sections(lines: Iterable[str], name: str) -> dict[str, str]:
    """Return the text of each section of a manual page, by its heading in capitals."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in _without_blocks(lines):
        line = COMMENT.sub("", line)
        macro = re.match(r"[.']\s*([A-Za-z0-9]+)\s*(.*)", line)
        if macro and macro[1] in ("SH", "Sh"):
            heading = " ".join(plain(" ".join(_arguments(macro[2]))).split()).upper()
        elif macro:
            found.setdefault(heading, []).append(plain(control(macro[1], macro[2], name)))
        elif not line.startswith((".", "'")):
            found.setdefault(heading, []).append(plain(line))
    return {heading: " ".join(" ".join(texts).split()) for heading, texts in found.items()}


def _without_blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines outside of definitions, tables, equations and pictures."""
    end = ""
    for line in lines:
        macro = re.match(r"[.']\s*(\w+|\.)", line)
        if end:
            if macro and macro[1] == end:
                end = ""
        elif macro and macro[1] in BLOCKS:
            end = BLOCKS[macro[1]]
        else:
            yield line
