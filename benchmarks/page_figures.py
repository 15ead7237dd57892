"""The figures of the site's pages; benchmarks.readme puts them there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def read(name: str) -> dict[str, Any]:
    """Return a result file."""
    return json.loads((RESULTS / f"{name}.json").read_text())


SECTIONS: dict[str, Callable[[], list[str]]] = {}
