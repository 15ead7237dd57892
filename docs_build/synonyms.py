"""Add the words of other tools to the index of the search, so that they find the page of abound's term."""

from typing import Any

# The page, and the words that should find it. The glossary explains each term.
SYNONYMS = {
    "guides/scores/": ("threshold", "cut-off", "confidence"),
    "guides/five-minutes/": ("multilabel", "multi-label classification", "text classification", "quick start"),
    "algorithms/cascade/": ("bias", "intercept", "epoch", "extreme classification", "XMC", "shortlist"),
    "guides/second-opinion/": ("embeddings", "vectors", "semantic similarity", "nearest neighbours"),
    "page/": ("active learning", "annotation", "human in the loop", "review queue"),
    "guides/correct/": ("active learning", "incremental learning", "feedback", "partial_fit"),
    "tune/": ("hyperparameters", "grid search", "epoch"),
    "guides/hierarchies/": ("taxonomy", "ontology", "thesaurus"),
    "guides/capacity/": ("sizing", "hardware requirements", "RAM", "throughput"),
    "reference/errors/": ("exception", "troubleshooting", "error message"),
    "algorithms/calibration/": ("Platt scaling", "isotonic regression", "predict_proba"),
}
SAID = "Also called: "


def added(index: dict[str, Any]) -> dict[str, Any]:
    """Return the index of the search with the synonyms at the pages that they should find.

    Raises
    ------
    LookupError
        If a page is not in the index.
    """
    pages = {entry["location"]: entry for entry in index["docs"]}
    for location, words in SYNONYMS.items():
        if location not in pages:
            raise LookupError(f"the search has no page {location}; correct docs_build/synonyms.py")
        pages[location]["text"] += f"<p>{SAID}{', '.join(words)}.</p>"
    return index
