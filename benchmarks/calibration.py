"""Measure probabilities and assigned labels of a default fit.

python -m benchmarks.calibration                              all data sets, on their test rows
python -m benchmarks.calibration --set reuters-90
python -m benchmarks.calibration --development [--set ...]    on held-out training rows, to choose constants; not stored
python -m benchmarks.calibration --show                       print the stored tables
python -m benchmarks.calibration --plot docs/images           draw the stored reliability diagrams

A `Tagger` without options learns the training texts. Each data set gets these figures:

- the expected calibration error of the ten best labels, in 15 bins of equal mass, before and after 1,000 corrections;
- the example-based F1 of `Tagger.assign`, and of the best fixed number of labels, chosen on the same rows;
- the precision of the labels that are assigned for a target precision;
- P@1 with calibration and without it, which learns every row in every pass;
- the CPU time of ranking with probabilities, relative to ranking without, alternating (`--times` repeats only this).

Development rows are drawn at random from the training rows.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound import Tagger, plots
from abound.calibration import Calibration, Decision, PrecisionTarget
from abound.calibration.decisions import CONSIDERED
from abound.errors import AboundWarning
from abound.metrics.reliability import CalibrationBin
from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "calibration.json"
IMAGES = Path(__file__).parents[1] / "docs" / "images"
SETS = ("reuters-90", "debian-tags", "wordnet-hypernym", "gutenberg-lcsh", "finna-100k")
TARGETS = (0.8, 0.9, 0.95)
N_CORRECTIONS, TOP, N_BINS, MOST_FIXED, REPEATS = 1_000, 10, 15, 10, 25


class Judged:
    """Rankings of labelled texts, and which of their labels are right."""

    def __init__(self, tagger: Tagger, rows: documents.Rows) -> None:
        ranking = tagger.rank_arrays([row.text for row in rows], CONSIDERED)
        self.n_true = np.array([len(set(row.labels)) for row in rows])
        self.ranked = ranking.indices >= 0
        names = [[ranking.names[i] if i >= 0 else None for i in line] for line in ranking.indices.tolist()]
        self.right = np.array([[name in row.labels for name in line] for line, row in zip(names, rows, strict=True)])
        assert ranking.probabilities is not None
        self.likely = ranking.probabilities

    def bins(self) -> list[tuple[float, float, int]]:
        """Return mean probability, share of right labels and size of each bin."""
        used = self.ranked[:, :TOP]
        likely, right = self.likely[:, :TOP][used], self.right[:, :TOP][used]
        parts = np.array_split(np.argsort(likely, kind="stable"), N_BINS)
        return [(float(likely[part].mean()), float(right[part].mean()), len(part)) for part in parts]

    def calibration_error(self) -> float:
        bins = self.bins()
        return sum(n * abs(likely - right) for likely, right, n in bins) / sum(n for _, _, n in bins)

    def f1(self, assigned: NDArray[np.bool_]) -> float:
        """Return the mean F1 of the rows."""
        hits, sizes = (assigned & self.right).sum(axis=1), assigned.sum(axis=1) + self.n_true
        return float(np.mean(np.where(sizes > 0, 2 * hits / np.maximum(sizes, 1), 1.0)))

    def p1(self) -> float:
        return float(self.right[:, 0].mean())


def fitted(rows: documents.Rows, **params: Any) -> Tagger:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AboundWarning)
        return Tagger(ranker_params=params or None).fit([row.text for row in rows], [row.labels for row in rows])


def decisions(judged: Judged, calibration: Calibration) -> dict[str, Any]:
    """Compare assigned labels with every fixed number of labels, and with the target precisions."""
    fixed = {k: judged.f1(judged.ranked & (np.arange(CONSIDERED) < k)) for k in range(1, MOST_FIXED + 1)}
    best = max(fixed, key=lambda k: fixed[k])
    found: dict[str, Any] = {
        "F1_assigned": round(judged.f1(Decision().assigned(judged.likely, calibration)), 4),
        "F1_fixed": round(fixed[best], 4),
        "fixed_k": best,
    }
    for target in TARGETS:
        decision = Decision(precision=target)
        assigned = decision.assigned(judged.likely, calibration)
        found[f"precision_{target}"] = {
            "is_reachable": PrecisionTarget.of(calibration, target).is_reachable,
            "precision": round(float(judged.right[assigned].mean()), 4) if assigned.any() else None,
            "assigned": int(assigned.sum()),
            "sentence": PrecisionTarget.of(calibration, target).sentence(target),
        }
    return found


def ranking_time(tagger: Tagger, texts: list[str]) -> dict[str, float]:
    """Return the CPU time of ranking with probabilities relative to ranking without, as median of alternating pairs."""
    calibration, rows = tagger.ranker.calibration_, tagger.rows_of(texts)
    single = [tagger.rows_of([text]) for text in texts[:500]]
    seconds: dict[str, list[list[float]]] = {"batch": [[], []], "single rows": [[], []], "texts": [[], []]}
    for _ in range(REPEATS):
        for kind, times in enumerate((Calibration(), calibration)):
            tagger.ranker.calibration_ = times
            started = [time.process_time()]
            tagger.rank_rows(rows)
            started.append(time.process_time())
            for row in single:
                tagger.rank_rows(row)
            started.append(time.process_time())
            for text in texts[:500]:
                tagger.rank_arrays([text])
            started.append(time.process_time())
            for name, taken in zip(seconds, np.diff(started).tolist(), strict=True):
                seconds[name][kind].append(taken)
    ratios = {name: np.divide(after, before) for name, (before, after) in seconds.items()}
    return {name: round(float(np.median(pairs)), 3) for name, pairs in ratios.items()}


def texts_of(rows: documents.Rows) -> list[str]:
    """Return the texts that are ranked while the time is taken."""
    return [row.text for row in rows[:2_000]]


def measure(train: documents.Rows, held: documents.Rows) -> dict[str, Any]:
    tagger = fitted(train)
    judged, calibration = Judged(tagger, held), tagger.ranker.calibration_
    found = {
        "rows": len(train),
        "measured": len(held),
        "calibrated_on": calibration.n_rows,
        "ECE": round(judged.calibration_error(), 4),
        "bins": [[round(likely, 4), round(right, 4), n] for likely, right, n in judged.bins()],
        **decisions(judged, calibration),
        "ranking_time": ranking_time(tagger, texts_of(held)),
        "P@1": round(judged.p1(), 4),
    }
    n_taught = min(N_CORRECTIONS, len(held) // 2)
    for row in held[:n_taught]:
        tagger.learn(row.text, row.labels)
    found |= {
        "corrections": n_taught,
        "ECE_before": round(Judged(fitted(train), held[n_taught:]).calibration_error(), 4),
    }
    found |= {"ECE_after": round(Judged(tagger, held[n_taught:]).calibration_error(), 4)}
    plain = fitted(train, calibrate=False).rank_arrays([row.text for row in held], 1)
    right = [plain.names[best] in row.labels for best, row in zip(plain.indices[:, 0].tolist(), held, strict=True)]
    return {**found, "P@1_without": round(float(np.mean(right)), 4)}


def random_development(set_name: str) -> tuple[documents.Rows, documents.Rows]:
    """Return nine tenths of the training rows, and at most 10,000 of the others; the test rows are not used."""
    rows = [row for row in documents.source(set_name).parts()[0] if row.labels]
    order = np.random.default_rng(26).permutation(len(rows)).tolist()
    n_held = len(rows) // 10
    return [rows[i] for i in order[n_held:]], [rows[i] for i in order[: min(n_held, 10_000)]]


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return found


def keep(set_name: str, cell: dict[str, Any]) -> None:
    result = {**read(), "machine": machine_line()}
    result.setdefault("sets", {})[set_name] = cell
    beside = RESULT.with_suffix(".new")
    beside.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(beside, RESULT)


def probability_table(result: dict[str, Any]) -> list[str]:
    """Return a table of calibration errors, of the effect on P@1, and of the ranking time."""
    lines = [
        "| data set | calibrated on | calibration error | after corrections | P@1 | P@1 without calibration "
        "| ranking time, batch | single texts |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for set_name, cell in result.get("sets", {}).items():
        times = cell["ranking_time"]
        lines.append(
            f"| {set_name} | {cell['calibrated_on']:,} of {cell['rows']:,} rows | {cell['ECE']:.4f} "
            f"| {cell['ECE_after']:.4f} ({cell['corrections']:,}) | {cell['P@1']:.4f} | {cell['P@1_without']:.4f} "
            f"| {times['batch']:.3f} | {times['texts']:.3f} |"
        )
    return lines


def decision_table(result: dict[str, Any]) -> list[str]:
    """Return a table of assigned labels: F1, and precision at each target."""
    lines = [
        "| data set | F1 of `assign` | F1 of the best fixed k | " + " | ".join(f"target {t}" for t in TARGETS) + " |",
        "|---" * (3 + len(TARGETS)) + "|",
    ]
    for set_name, cell in result.get("sets", {}).items():
        targets = [cell[f"precision_{target}"] for target in TARGETS]
        achieved = [
            f"{one['precision']:.3f}" if one["is_reachable"] and one["precision"] else "not reachable"
            for one in targets
        ]
        best = f"{cell['F1_fixed']:.3f} (k = {cell['fixed_k']})"
        lines.append(f"| {set_name} | {cell['F1_assigned']:.3f} | {best} | " + " | ".join(achieved) + " |")
    return lines


def diagrams(result: dict[str, Any]) -> list[str]:
    """Return the reliability diagrams that were drawn, as Markdown for a page of the guides."""
    files = {set_name: picture_of(IMAGES, set_name) for set_name in result.get("sets", {})}
    return [
        f"![Probabilities of {set_name} compared with the share of right labels](../images/{file.name})"
        for set_name, file in files.items()
        if file.exists()
    ]


TABLES = {"probabilities": probability_table, "decisions": decision_table, "diagrams": diagrams}


def picture_of(folder: Path, set_name: str) -> Path:
    return folder / f"reliability-{set_name}.png"


def plot(result: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the stored bins of every data set; return the files."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for set_name, cell in result.get("sets", {}).items():
        bins = [CalibrationBin(likely, right, n, likely, likely) for likely, right, n in cell["bins"]]
        figure = Figure(figsize=(5, 4.4), layout="constrained")
        axes = plots.reliability_diagram(bins, ax=figure.add_subplot())
        axes.set_title(f"{set_name}: {cell['measured']:,} test rows", loc="left", fontweight="bold", pad=20)
        figure.savefig(picture_of(folder, set_name), dpi=80)
        files.append(picture_of(folder, set_name))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=sorted(documents.SOURCES))
    parser.add_argument("--development", action="store_true", help="measure on held-out training rows; store nothing")
    parser.add_argument("--times", action="store_true", help="measure only the ranking time again")
    parser.add_argument("--show", action="store_true", help="print the stored tables")
    parser.add_argument("--plot", metavar="FOLDER", type=Path, help="draw the stored reliability diagrams")
    given = parser.parse_args()
    if given.plot is not None:
        if not read().get("sets"):
            sys.exit("nothing is stored yet: run python -m benchmarks.calibration first")
        print(*plot(read(), given.plot), sep="\n")
        return
    if given.show:
        for table in TABLES.values():
            print(*table(read()), "", sep="\n")
        return
    for set_name in given.set or SETS:
        if given.development:
            train, held = random_development(set_name)
        else:
            whole = documents.final(set_name)
            train, held = whole.train, [row for row in whole.held if row.labels]
        if given.times:
            cell = {**read()["sets"][set_name], "ranking_time": ranking_time(fitted(train), texts_of(held))}
        else:
            cell = measure(train, held)
        if not given.development:
            keep(set_name, cell)
        print(set_name, json.dumps({name: value for name, value in cell.items() if name != "bins"}), file=sys.stderr)


if __name__ == "__main__":
    main()
