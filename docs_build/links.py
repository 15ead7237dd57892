"""Check a built site: every link, anchor and picture exists, and nothing is fetched from another host.

python -m docs_build.links site
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

BASE = re.compile(r'"base": "([^"]*)"')  # where the site begins, as seen from a page
FETCHED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str, str]] = []
        self.anchors: set[str] = set()
        base = BASE.search(text)
        self.base = base[1] if base else "."
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append((tag, name, value))


def broken(site: Path) -> Iterator[str]:
    """Yield a sentence for each broken link, and for each resource that is fetched from another host."""
    pages = {path.resolve(): Page(path.read_text()) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for tag, name, value in page.links:
            target = urlsplit(value)
            if target.scheme == "data":
                continue
            if target.scheme or target.netloc:
                if (tag, name) in FETCHED:
                    yield f"{path.relative_to(site.resolve())} fetches {value}"
                continue
            place = unquote(target.path)
            if place.startswith("/") and path.name == "404.html":  # it is shown at any address
                place = place.removeprefix(page.base).lstrip("/") or "."
            found = (path.parent / place).resolve() if place else path
            if found.is_dir():
                found /= "index.html"
            if not found.exists():
                yield f"{path.relative_to(site.resolve())}: {value} is not there"
            elif target.fragment and found in pages and unquote(target.fragment) not in pages[found].anchors:
                yield f"{path.relative_to(site.resolve())}: {value} has no such anchor"


def main() -> None:
    """Print broken links, and fail if there are any."""
    found = list(broken(Path(sys.argv[1])))
    print("\n".join(found) or "no broken links")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
