"""Pictures of other programs for the documentation, taken during their tests.

ABOUND_PICTURES=docs/images pytest -m slow tests/integrations
"""

import html
import os
import re
import subprocess
from pathlib import Path

from benchmarks.page import stage
from benchmarks.page.pictures import save

ROOT = Path(__file__).parents[2]
PAGE = """<!doctype html><meta charset="utf-8"><body style="margin: 0; background: #fff">
<pre style="margin: 24px; font: 15px/1.45 'DejaVu Sans Mono', monospace; color: #222">%s<b>%s</b></pre>"""


def take(page, name):
    """Save what a browser shows as integration-NAME.png, if the variable ABOUND_PICTURES names a directory."""
    folder = os.environ.get("ABOUND_PICTURES")
    if folder:
        save(page.screenshot(caret="hide"), Path(folder) / f"integration-{name}.png")


def run_example(heading, python, url, name):
    """Run the first Python example below a heading of docs/integrations.md against a server; return what it prints.

    A picture shows the example and what it prints.
    """
    text = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    code = re.search(rf"^## {heading}\n.*?^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    script = code.replace("http://127.0.0.1:8000", url)
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    if os.environ.get("ABOUND_PICTURES"):
        with stage.chromium() as browser:
            page = browser.new_context(viewport={"width": 1120, "height": 400}).new_page()
            page.set_content(
                PAGE % (html.escape(f"$ cat example.py\n{code}\n$ python example.py\n"), html.escape(done.stdout))
            )
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": 1120, "height": height})
            take(page, name)
    return done.stdout
