"""Explain differences: what the paper leaves open about the vectors of 20 Newsgroups and the labels of Reuters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.feature_focus import corpora
from benchmarks.papers.feature_focus.cells import Cells
from benchmarks.papers.feature_focus.corpora import Corpus, Part
from benchmarks.papers.feature_focus.peers import one_versus_rest
from benchmarks.papers.feature_focus.runs import frequency, index_passes, peer

HEAD = ("from", "subject")
NEWSGROUPS: dict[str, Callable[[], Corpus]] = {
    "body, counts": lambda: corpora.newsgroups(),
    "body, log counts": lambda: corpora.newsgroups((), {"sublinear_tf": True, "use_idf": False}),
    "body, log counts × idf": lambda: corpora.newsgroups((), corpora.TF_IDF),
    "sender, subject and body, counts": lambda: corpora.newsgroups(HEAD),
    "sender, subject and body, log counts × idf": lambda: corpora.newsgroups(HEAD, corpora.TF_IDF),
}
PICKS = ("first", "last", "random")


def both(part: Part) -> dict[str, float]:
    """Return R1 of the index with margin 0.5 after one pass, R1 of the SVM, and R5 of the baseline."""
    return {
        "FF margin 0": index_passes(part, 1, margin=0.0)[0]["R1"],
        "FF margin 0.5": index_passes(part, 1, margin=0.5)[0]["R1"],
        "SVM C=1": peer(one_versus_rest(part, "SVM C=1")["scores"])["R1"],
        "frequency R5": frequency(part)["R5"],
    }


def readings(folder: Path | None, n_trials: int, jobs: int = 1, *, quick: bool = False) -> dict[str, Any]:
    """Return the figures of each interpretation, means over trials; in quick mode, of a few stories only."""
    limit = 900 if quick else None
    reuters = {f"{pick} topic": lambda p=pick: corpora.reuters_10(limit, p) for pick in PICKS}
    result: dict[str, Any] = {"trials": n_trials}
    for name, makers in {"20news": {} if quick else NEWSGROUPS, "reuters-10": reuters}.items():
        result[name] = {}
        for reading, make in makers.items():
            corpus = make()
            corpus.name = f"{name}, {reading}"
            rows = Cells(corpus, folder, jobs).trials("both", n_trials, both)
            figures = {measure: float(np.mean([row[measure] for row in rows])) for measure in rows[0]}
            data = corpus.figures()
            result[name][reading] = {**figures, **{k: data[k] for k in ("features", "features_a_row")}}
    return result
