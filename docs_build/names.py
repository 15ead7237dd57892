"""List the public names, and the page of the reference for each."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import abound

# Pages by the part of the package that defines a name; names without a separate page are on the tagger's page.
PAGES = {
    "tagger": ("Tagger", "What a program holds in its hand: texts in, ranked labels out; and what can go wrong."),
    "rankers": ("Rankers", "Rows of features in, ranked labels out: scikit-learn estimators, and the tagger's parts."),
    "ordinal": ("Ratings and bands", "Ranks in order, and labels cut into those to apply, to suggest and to hide."),
    "retrieval": ("Documents of queries", "Learn an order of a query's documents, and take it to a search engine."),
    "text": ("Texts", "From strings to sparse rows."),
    "data": ("Files", "Read and write files of documents, rows, judgements and runs."),
    "metrics": ("Measures", "How good a ranking is."),
    "store": ("Model directories", "What a model looks like on a disk."),
    "server": ("Serving", "A model that many people correct: its home, its writer, those who follow, and the client."),
    "plots": ("Pictures", "The pictures that abound draws."),
    "spark": ("Spark", "The same training and ranking on Spark."),
}
ELSEWHERE = {"client": "server", "tuning": "tagger", "estimators": "rankers", "components": "rankers"}
NO_NAMES = {"cli", "kernels"}  # nothing in it is meant to be imported


def public() -> Iterator[tuple[str, str, Any]]:
    """Yield page, dotted name and object of every public name, each object once."""
    seen: set[int] = set()
    for module, name in [("abound", name) for name in abound.__all__] + list(_of_parts()):
        found = getattr(importlib.import_module(module), name)
        if callable(found) and id(found) in seen:
            continue
        seen.add(id(found))
        home = getattr(found, "__module__", module) if callable(found) else module
        part = [*home.split("."), "tagger"][1]
        part = ELSEWHERE.get(part, part)
        yield part if part in PAGES else "tagger", f"{module}.{name}", found


def _of_parts() -> Iterator[tuple[str, str]]:
    for found in pkgutil.iter_modules(abound.__path__):
        if found.name in NO_NAMES or found.name.startswith("_"):
            continue
        try:
            module = importlib.import_module(f"abound.{found.name}")
        except ImportError:
            continue  # it needs an extra that is not installed
        for name in getattr(module, "__all__", ()):
            yield module.__name__, name
