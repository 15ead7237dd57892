"""Mark the parts of a page that a narrow screen must not break or shrink: options, dates, figures and wide pictures.

Long names may be broken between their words, and every picture leads to itself in full size. The classes have no effect
by themselves; docs/stylesheets/extra.css says what they mean.
"""

import html
import re
import struct
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
INLINE = re.compile(r"(?<!<pre>)(?<!<span></span>)<code>([^<]+)</code>")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")  # a browser would break it after a hyphen
FIGURES = re.compile(r"[-+±~≥.\d][-+±\d.,:/()\[\]%×*† ]*(?:\bto\b[-+±\d.,:/()\[\]%×*† ]*)*")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
NAME = re.compile(r"(?<!\S)[^\s-]\S*")  # in code; not an option
PATH = re.compile(r"(?<![\w./\"'=-])[\w./]{20,}(?![^<]*>)")  # in the text of a cell, not in a tag
JOINT = re.compile(r"(?<=[A-Za-z\d)])(?:::|[._(=,/])(?=[A-Za-z&\"'{\[])(?![A-Za-z]{1,3}(?!\w))")  # not before "py"
HEADING = re.compile(r"(<h[2-4][^>]*>)([\w.]+)(?=<a |</h)")
CELL = re.compile(r"<(t[dh])( style=\"[^\"]*\")?>(.*?)</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
PICTURE = re.compile(r'<img (?=[^>]*src="((?!data:)[^"]*images/([\w.-]+))(?:#[\w-]+)?")([^>]*>)')
HYPHENED = re.compile(r"\w+(?:-\w+)+")
IN_TEXT = re.compile(r"(<code>.*?</code>|<(?:[^>\"']|\"[^\"]*\"|'[^']*')*>)|(?<![\w-])--[A-Za-z][\w-]*", re.DOTALL)
# A picture alone in its paragraph or cell, without a line of emphasis below it.
CAPTIONED = re.compile(
    r'(<(?:p|td)(?: [^>]*)?>)(<a href="[^"]*"><img [^>]*?alt="([^"]+)"[^>]*></a>)(?=</(?:p|td)>)(?!</p>\s*<p><em>)'
)
LONG, LONGEST = 20, 32  # characters of a name that may be broken in a cell on a phone, and anywhere
MOST_FIGURES = 32  # characters
LEAST_TEXT = 24
WIDE = 1.4  # width by height


def marked(page: str) -> str:
    """Return the HTML of a page with the classes whole, narrow, figures, date, code, text and wide, and captions.

    Examples
    --------
    >>> marked("<td>0.886 / 0.631</td>")
    '<td class="figures">0.886 / 0.631</td>'
    >>> marked("<h2>abound.data.read_vocabulary</h2>")
    '<h2>abound.<wbr>data.<wbr>read_<wbr>vocabulary</h2>'
    >>> marked("<p><code>fit --max-memory 1G</code></p>")
    '<p><code>fit <span class="whole">--max-memory</span> 1G</code></p>'
    """
    page = INLINE.sub(lambda code: f"<code>{OPTION.sub(_whole, NAME.sub(_name, code[1]))}</code>", page)
    page = HEADING.sub(lambda heading: heading[1] + JOINT.sub(r"\g<0><wbr>", heading[2]), page)
    page = CELL.sub(_cell, page)
    return CAPTIONED.sub(r'\1\2<span class="caption">\3</span>', PICTURE.sub(_picture, page))


def _whole(option: re.Match[str]) -> str:
    return f'<span class="whole">{option[0]}</span>'


def _name(match: re.Match[str]) -> str:
    length = len(html.unescape(match[0]))
    if length < LONG:
        return match[0]
    return JOINT.sub(r"\g<0><wbr>" if length >= LONGEST else r'\g<0><wbr class="narrow">', match[0])


def _cell(match: re.Match[str]) -> str:
    tag, style, content = match[1], match[2] or "", PATH.sub(_name, match[3])
    content = IN_TEXT.sub(lambda found: found[1] or _whole(found), content)
    kind = _kind(content)
    return f"<{tag}{style}{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{content}</{tag}>"


def _kind(content: str) -> str:
    """Return the classes of a cell."""
    length = len(TAG.sub("", content))
    if DATE.fullmatch(content):
        return "figures date"
    if length <= MOST_FIGURES and FIGURES.fullmatch(content):
        return "figures"
    if "<code>" in content and not TAG.sub("", CODE.sub("", content)).strip(" ,;"):
        return "code"
    if length <= LONG and HYPHENED.fullmatch(content):
        return "whole"
    return "text" if length >= LEAST_TEXT and " " in TAG.sub("", content).strip() else ""


def _picture(match: re.Match[str]) -> str:
    address, name, rest = match.groups()
    wide = 'class="wide" ' if _is_wide(IMAGES / name) else ""
    return f'<a href="{address}"><img {wide}{rest}</a>'


def _is_wide(path: Path) -> bool:
    """Return whether a picture cannot be read on a phone: a recorded terminal, or one much wider than high."""
    if path.suffix != ".png" or not path.exists():
        return path.suffix == ".svg"
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])  # the header of a PNG
    return bool(width >= WIDE * height)
