"""Write llms.txt, the list of all pages with one line each, for programs that read the site."""

import html
import re
from collections.abc import Iterator
from typing import Any

PARAGRAPH = re.compile(r"<(p|li)>(.*?)</\1>", re.DOTALL)
SENTENCE = re.compile(r"(.+?(?<![A-Z])[.?!])(?:\s|$)")  # a capital before the dot is an initial
LONGEST = 240


def first_sentence(content: str) -> str:
    """Return the first sentence of three words or more of a page as plain text.

    Examples
    --------
    >>> first_sentence("<h1>Title</h1><p><img src='x'></p><p>2026-01-31</p><p>Rank <em>many</em> labels. More.</p>")
    'Rank many labels.'
    """
    for _, paragraph in PARAGRAPH.findall(content):
        text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", paragraph)).split())
        if text.count(" ") > 1:  # not a picture or a date
            found = SENTENCE.match(text)
            return (found[1] if found else text)[:LONGEST]
    return ""


def render(nav: Any, name: str, description: str, address: str) -> str:
    """Return the text: one heading per part of the site, one line per page."""
    lines = [f"# {name}", "", f"> {description}", ""]
    for item in nav.items:
        lines += [f"## {item.title}", "", *(_line(page, address) for page in _pages(item)), ""]
    return "\n".join(lines)


def _pages(item: Any) -> Iterator[Any]:
    if item.is_page:
        yield item
    for child in item.children or ():
        yield from _pages(child)


def _line(page: Any, address: str) -> str:
    said = html.unescape(page.meta.get("description", ""))
    return f"- [{page.title}]({address}{page.url or './'})" + (f": {said}" if said else "")
