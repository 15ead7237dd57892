"""Measure bands on real streams: how many labels can be applied at a target precision.

python -m benchmarks.bands                                       both data sets with the feature-focus index
python -m benchmarks.bands --set debian-tags --ranker independent
python -m benchmarks.bands --show                                print the last result

A ranker is trained on the first rows of a data set. The rest is a stream: every row is ranked, its labels are divided
into bands, feedback is given on the shown labels only, and the ranker learns the row. Only later rows are measured: the
last half of the original stream, and all rows after the shift of a stream whose label distribution shifts halfway
(first the rows with frequent labels, then those with rare ones).
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.estimators import estimator_class
from abound.ordinal.bands import APPLY, SUGGEST, Bands
from abound.rankers import KINDS
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"
SETS = ("debian-tags", "finna-100k")
TARGETS = (0.8, 0.9, 0.95)
STREAM = 20_000  # rows of a stream, or half of the data set if that is less
CHUNK = 250  # rows that are ranked before they are learned
K = 10
GROUPS = 3  # of labels: frequent, less frequent, rare


class Stream:
    """Rankings of a stream of rows, each computed before its rows were learned."""

    def __init__(self, name: str, ranker: str, *, shift: bool) -> None:
        data = sets.load(name)
        X, Y = (sp.csr_matrix(sp.vstack(parts)) for parts in ((data.X_train, data.X_test), (data.Y_train, data.Y_test)))
        start = X.shape[0] - min(STREAM, X.shape[0] // 2)
        self.counts = np.asarray(Y[:start].sum(axis=0)).ravel()
        rows = np.arange(start, X.shape[0])
        if shift:
            rows = frequent_first(Y, rows, self.counts)
        model = estimator_class(ranker)().fit(X[:start], Y[:start])
        labels, scores = [], []
        for at in range(0, len(rows), CHUNK):
            chunk = rows[at : at + CHUNK]
            ranking = model.rank(X[chunk], K)
            labels.append(ranking.indices)
            scores.append(ranking.scores)
            model.partial_fit(X[chunk], Y[chunk])
        self.labels, self.scores = np.concatenate(labels), np.concatenate(scores)
        truth = [set(Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()) for row in rows]
        self.hits = np.array([[x in t for x in line] for line, t in zip(self.labels.tolist(), truth, strict=True)])
        self.n_true = np.array([len(t) for t in truth])

    def groups(self) -> dict[int, int]:
        """Divide labels into groups with a third of all occurrences each, the most frequent labels first."""
        order = np.argsort(-self.counts, kind="stable")
        share = np.cumsum(self.counts[order]) / self.counts.sum()
        return {int(label): min(int(GROUPS * s), GROUPS - 1) for label, s in zip(order, share, strict=True)}


def frequent_first(Y: "sp.csr_matrix", rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the rows with frequent labels, then those with rare ones, each in the original order."""
    usual = np.array([np.log1p(counts[Y.indices[Y.indptr[r] : Y.indptr[r + 1]]]).mean() for r in rows])
    return np.concatenate([rows[usual >= np.median(usual)], rows[usual < np.median(usual)]])


def measure(stream: Stream, bands: np.ndarray, rows: slice) -> dict[str, float]:
    applied, suggested, hits = bands[rows] == APPLY, bands[rows] == SUGGEST, stream.hits[rows]
    n_true = stream.n_true[rows].sum()
    return {
        "applied": int(applied.sum()),
        "applied_a_row": float(applied.sum() / len(hits)),
        "precision": float(hits[applied].mean()) if applied.any() else float("nan"),
        "share_of_true_applied": float(hits[applied].sum() / n_true),
        "suggested_a_row": float(suggested.sum() / len(hits)),
        "precision_suggested": float(hits[suggested].mean()) if suggested.any() else float("nan"),
        "share_of_true_suggested": float(hits[suggested].sum() / n_true),
    }


def run(name: str, ranker: str, targets: tuple[float, ...] = TARGETS) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for shift in (False, True):
        stream = Stream(name, ranker, shift=shift)
        half = len(stream.labels) // 2
        for grouped in (False, True):
            for target in targets:
                bands = Bands(target, groups=stream.groups() if grouped else None)
                cut = bands.learn(stream.labels, stream.scores, stream.hits)
                kind = ("shift" if shift else "as it is") + (", in groups" if grouped else "")
                found = {**measure(stream, cut, slice(half, None)), "report": bands.report()}
                if grouped:
                    found["groups"] = group_precisions(stream, cut, bands, half)
                result.setdefault(kind, {})[str(target)] = found
                print(f"{name} {kind} {target}: {found}", file=sys.stderr)
    return {"stream": len(stream.labels), "measured": len(stream.labels) - half, "runs": result}


def group_precisions(stream: Stream, cut: np.ndarray, bands: Bands, half: int) -> list[dict[str, Any]]:
    """Return the labels applied in each group, and the report of the bands."""
    found = []
    of_label = np.full(len(stream.counts) + 1, -1)
    for label, group in stream.groups().items():
        of_label[label] = group
    for group in range(GROUPS):
        mine = (cut[half:] == APPLY) & (of_label[stream.labels[half:]] == group)
        precision = float(stream.hits[half:][mine].mean()) if mine.any() else float("nan")
        found.append({"applied": int(mine.sum()), "precision": precision, "report": bands.report(group)})
    return found


def show(result: dict[str, Any]) -> None:
    print(f"{result['machine']}; ranker {result['ranker']}")
    print(f"{result['set']}: a stream of {result['stream']:,} rows, the last {result['measured']:,} measured")
    print(f"{'stream':22}{'target':>7}{'precision':>11}{'applied/row':>15}{'of the true':>13}  report of the bands")
    for kind, runs in result["runs"].items():
        for target, f in runs.items():
            line = f"{kind:22}{target:>7}{f['precision']:>11.3f}{f['applied_a_row']:>15.3f}"
            print(f"{line}{f['share_of_true_applied']:>13.3f}  {f['report']}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bands", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default=",".join(SETS), help="comma-separated names of data sets")
    parser.add_argument("--ranker", default="feature-focus", choices=KINDS, help="the ranker")
    parser.add_argument("--show", action="store_true", help="print the stored results")
    arguments = parser.parse_args()
    for name in arguments.set.split(","):
        output = RESULTS / f"bands-{arguments.ranker}-{name}.json"
        if not arguments.show:
            result = {"machine": machine_line(), "ranker": arguments.ranker, "set": name, **run(name, arguments.ranker)}
            output.write_text(json.dumps(result, indent=1) + "\n")
        show(json.loads(output.read_text()))


if __name__ == "__main__":
    main()
