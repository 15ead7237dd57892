"""Take pictures of the site's pages for review: light, dark and phone width.

python -m docs_build.screenshots FOLDER [PAGE ...]     needs playwright (pip install playwright) and chromium
"""

import contextlib
import http.server
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

PAGES = ("", "guides/five-minutes/", "guides/libraries/", "algorithms/mmp/", "algorithms/feature-focus/", "why/",
         "measured/", "notebooks/correct/", "reference/commands/", "reference/tagger/", "reference/errors/",
         "tutorials/abound-101/", "guides/capacity/", "gallery/", "glossary/")  # fmt: skip
FORMS = {"light": ("light", 1280, 900), "dark": ("dark", 1280, 900), "phone": ("light", 390, 844)}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files without logging."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a built site on this machine until the block ends."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def built() -> Iterator[Path]:
    """Build the site in a folder that is removed when the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder], check=True)
        yield Path(folder)


def main() -> None:
    """Take every picture; fail if a page is wider than the window, contacts another host or has an error."""
    from playwright.sync_api import sync_playwright

    target, pages = Path(sys.argv[1]), sys.argv[2:] or PAGES
    target.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    with built() as folder, served(folder) as root, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for form, (scheme, width, height) in FORMS.items():
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
            tab = context.new_page()
            tab.on(
                "request", lambda r: wrong.append(f"asks {r.url}") if not r.url.startswith((root, "data:")) else None
            )
            tab.on("pageerror", lambda error: wrong.append(str(error)))
            for page in pages:
                tab.goto(root + page)
                if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                    wrong.append(f"{page or 'index'} is wider than the window ({form})")
                tab.screenshot(path=target / f"{(page or 'index').strip('/').replace('/', '-')}-{form}.png")
            context.close()
        browser.close()
    print("\n".join(wrong) or f"{len(pages) * len(FORMS)} pictures in {target}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
