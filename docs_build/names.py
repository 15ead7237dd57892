"""List the public names, and the page of the reference for each."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import abound

# Pages by the part of the package that defines a name; names without a separate page are on the tagger's page.
PAGES = {
    "tagger": ("Tagger", "Rank labels for texts; load and merge models; errors and warnings."),
    "rankers": ("Rankers", "Rank labels for rows of features: scikit-learn estimators, and the components of rankers."),
    "ordinal": ("Ratings and bands", "Predict ordered ranks, and split ranked labels into apply, suggest and hide."),
    "retrieval": ("Re-ranking", "Rank the documents of a query, and export the model to a search engine."),
    "text": ("Text encoding", "Turn texts into sparse rows."),
    "data": ("File formats", "Read and write files of documents, rows, judgements and runs."),
    "metrics": ("Metrics", "Measure the quality of a ranking."),
    "store": ("Model directories", "Save and load models."),
    "server": ("Server in Python", "Serve a model that many people correct: its home, writer, followers and client."),
    "plots": ("Plots", "Plot the quality, errors and explanations of a model."),
    "spark": ("Spark", "Train and rank on Spark."),
    "integrations": (
        "MLflow and the Hugging Face Hub",
        "Log models to MLflow, and share them on the Hugging Face Hub.",
    ),
}
ELSEWHERE = {"client": "server", "tuning": "tagger", "estimators": "rankers", "components": "rankers"}
ELSEWHERE |= {"hub": "integrations", "mlflow": "integrations"}
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
