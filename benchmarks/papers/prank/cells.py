"""Results of single computations, stored in `.cache` under a hash of their settings, so that a run can be resumed."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "prank-paper"
VERSION = 1  # to be raised when the code of an experiment changes its figures


class Cells:
    """A folder of results; it counts the seconds that its cells took, whenever they were computed."""

    def __init__(self, folder: Path = CACHE) -> None:
        self.folder = folder
        self.seconds = 0.0
        self.computed = 0

    def get(self, name: str, compute: Callable[..., Any], *hidden: Any, **settings: Any) -> Any:
        """Return a stored result, or compute and store it; `hidden` arguments follow from the name."""
        key = json.dumps([VERSION, name, settings], sort_keys=True, default=str)
        path = self.folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
        if not path.exists():
            start = time.process_time()
            found = compute(*hidden, **settings)
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps({"seconds": time.process_time() - start, "found": found}))
            part.replace(path)
            self.computed += 1
        stored = json.loads(path.read_text())
        self.seconds += stored["seconds"]
        return stored["found"]
