"""The visible text of an HTML file."""

import re
from html.parser import HTMLParser

from abound.data.formats import Malformed

_INVISIBLE = frozenset({"script", "style", "template", "noscript", "iframe", "object", "svg"})
# Words do not end at these; they end at all other tags.
_INLINE = frozenset(
    (
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "dfn",
        "del",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "nobr",
        "q",
        "rb",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    )
)
# Some Python versions raise an error for an unknown section such as <![x; browsers treat it as a comment.
_UNKNOWN_SECTION = re.compile(r"<!\[(?!CDATA\[|if|else|endif)")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


class _Visible(HTMLParser):
    """Collects the text outside of invisible elements. It keeps no tree, so nesting costs nothing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden: dict[str, int] = {}  # open invisible elements

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _INVISIBLE:
            self._hidden[tag] = self._hidden.get(tag, 0) + 1
        elif tag not in _INLINE and not self._hidden:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _INVISIBLE:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in _INVISIBLE:
            if self._hidden.get(tag, 0) > 1:
                self._hidden[tag] -= 1
            else:
                self._hidden.pop(tag, None)
        elif tag not in _INLINE and not self._hidden:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(_SPACES.sub(" ", data.replace("\n", " ")))


def html_text(markup: str) -> str:
    r"""Return the title and the visible text of HTML, a line per block.

    Examples
    --------
    >>> html_text("<title>Roses</title><script>x()</script><p>in <b>co</b>ld<p>climates")
    'Roses\nin cold\nclimates'
    """
    parser = _Visible()
    try:
        parser.feed(_UNKNOWN_SECTION.sub("<! ", markup))
        parser.close()
    except AssertionError as error:  # how the parser reports a malformed declaration
        raise Malformed(f"the HTML cannot be read: {error}") from None
    return _LINES.sub("\n", _SPACES.sub(" ", "".join(parser.parts))).strip()
