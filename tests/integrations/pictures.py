"""Pictures of other programs for the documentation, taken during their tests.

ABOUND_PICTURES=docs/images pytest -m slow tests/integrations
"""

import os
from pathlib import Path

from benchmarks.page.pictures import save


def take(page, name):
    """Save what a browser shows as integration-NAME.png, if the variable ABOUND_PICTURES names a directory."""
    folder = os.environ.get("ABOUND_PICTURES")
    if folder:
        save(page.screenshot(caret="hide"), Path(folder) / f"integration-{name}.png")
