"""Read the collections of graded documents on which document rankings are measured."""

import lzma
from dataclasses import dataclass
from typing import Any

import numpy as np

from abound.data import read
from benchmarks.sets import data_folder


@dataclass
class Collection:
    """Documents of queries, one per row; a higher value is better, NaN means that a column lacks the document.

    Attributes
    ----------
    retrieved : ndarray of bool
        Rows that can be ranked; the others are relevant documents that no run found, and count as missed.
    """

    X: Any
    y: Any
    qid: Any
    documents: Any
    retrieved: Any

    def part(self, rows: Any) -> "Collection":
        return Collection(*(getattr(self, name)[rows] for name in ("X", "y", "qid", "documents", "retrieved")))

    def of_queries(self, names: Any) -> "Collection":
        return self.part(np.isin(self.qid, names))


def join(parts: list[Collection]) -> Collection:
    names = ("X", "y", "qid", "documents", "retrieved")
    return Collection(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _letor_file(path: str, sign: float, n_features: int, absent: float) -> Collection:
    rows, grades, queries, names = [], [], [], []
    for number, row in enumerate(read(data_folder() / path, "letor")):
        values = np.full(n_features, absent)
        values[np.array(row.indices, int) - 1] = row.values
        rows.append(sign * values)
        grades.append(int(row.labels[0]))
        queries.append(row.qid)
        names.append(row.id or f"{number:06}")
    return Collection(np.array(rows), np.array(grades), np.array(queries), np.array(names), np.ones(len(rows), bool))


def letor_agg() -> list[Collection]:
    """Return the five parts of MQ2007-agg: the ranks that 21 rankers gave, negated."""
    return [_letor_file(f"letor-agg/A{part}.txt.xz", -1.0, 21, np.nan) for part in range(1, 6)]


def trec_web_2012() -> tuple[Collection, list[str]]:
    """Return the union of eight runs with their scores, and the runs' names."""
    folder = data_folder() / "trec-web-2012"
    paths = sorted(folder.glob("*.run.xz"))
    scores: dict[tuple[str, str], Any] = {}
    for number, path in enumerate(paths):
        for line in read(path, "trec-run"):
            key = (line.qid, line.doc)
            scores.setdefault(key, np.full(len(paths), np.nan))[number] = line.score
    qrels = {(q.qid, q.doc): q.grade for q in read(folder / "qrels.web.151-200.txt.xz", "trec-qrels")}
    judged = {qid for qid, _ in qrels}
    keys = [key for key in scores if key[0] in judged]
    missed = [key for key, grade in qrels.items() if grade >= 1 and key not in scores]
    X = np.vstack([*(scores[key] for key in keys), np.full((len(missed), len(paths)), np.nan)])
    everything = keys + missed
    y = np.array([max(qrels.get(key, 0), 0) for key in everything])
    order = np.argsort([int(key[0]) for key in everything], kind="stable")
    retrieved = np.arange(len(everything)) < len(keys)
    qid, documents = (np.array([key[i] for key in everything]) for i in (0, 1))
    whole = Collection(X, y, qid, documents, retrieved).part(order)
    return whole, [path.name.removesuffix(".run.xz") for path in paths]


def mslr_5k() -> tuple[Collection, Collection]:
    """Return the training and the test piece of MSLR-WEB."""
    train, test = (_letor_file(f"ltr-mslr-5k/msn1.fold1.{part}.5k.txt.xz", 1.0, 136, 0.0) for part in ("train", "test"))
    return train, test


def ltr_lightgbm() -> tuple[Collection, Collection]:
    """Return LightGBM's example: 300 sparse features, of which a document has some."""
    parts = []
    for part in ("train", "test"):
        folder = data_folder() / "ltr-lightgbm"
        sizes = [int(line) for line in (folder / f"rank.{part}.query").read_text().split()]
        rows, grades = [], []
        with lzma.open(folder / f"rank.{part}.xz", "rt") as lines:
            for line in lines:
                grade, *pairs = line.split()
                values = np.full(300, np.nan)
                for pair in pairs:
                    feature, _, value = pair.partition(":")
                    values[int(feature) - 1] = float(value)
                rows.append(values)
                grades.append(int(float(grade)))
        qid = np.repeat([f"{number:04}" for number in range(len(sizes))], sizes)
        names = np.array([f"{number:06}" for number in range(len(rows))])
        parts.append(Collection(np.array(rows), np.array(grades), qid, names, np.ones(len(rows), bool)))
    return parts[0], parts[1]
