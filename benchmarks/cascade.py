"""Measure the cascade on texts: the effect of names, labels without an example, and growth.

python -m benchmarks.cascade names            100,000 and 20,000 titles, with and without the labels' names, and stems
python -m benchmarks.cascade growth           62,500 to 1,000,000 rows in doublings, with a picture
python -m benchmarks.cascade picture          the picture again, from the result of growth
python -m benchmarks.cascade ratings          one and several passes, learned ratings alone and with corrections
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from abound import Cascade, FeatureFocus, Tagger
from abound.data import read_label_names
from abound.metrics import evaluate, interval, judge
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"
IMAGES = Path(__file__).parents[1] / "docs" / "images"
MEASURES = ("P@1", "P@3", "P@5")
SIZES = ((100_000, 10_000), (20_000, 1_000))
FORMS: dict[str, dict[str, Any]] = {
    "words and pairs": {"name_weight": 0.0},
    "with names": {},
    "with names and stems": {"stem": "english"},
}
GROWTH = tuple(62_500 * 2**i for i in range(5))
GROWTH_TEST = 10_000


def names(sizes: tuple[tuple[int, int], ...] = SIZES) -> dict[str, Any]:
    """Learn titles with and without the names of their subjects."""
    called = read_label_names(sets.data_folder() / "yso-finna-en" / "labels.tsv")
    most = max(n_train + n_test for n_train, n_test in sizes)
    rows = [row for row, _ in zip(sets.finna_rows(), range(most), strict=False)]
    found = {}
    for n_train, n_test in sizes:
        train, test = rows[:n_train], rows[n_train : n_train + n_test]
        for form, params in FORMS.items():
            found[f"{n_train // 1000}k, {form}"] = _titles(train, test, called, params)
    return {"runs": found}


def _titles(train: list[Any], test: list[Any], called: dict[str, list[str]], params: dict[str, Any]) -> dict[str, Any]:
    tagger = Tagger(**params)
    start = time.perf_counter()
    tagger.fit([text for text, _ in train], [labels for _, labels in train], label_names=called)
    seconds = time.perf_counter() - start
    texts = [text for text, _ in test]
    start = time.perf_counter()
    ranking = tagger.rank_arrays(texts, 10)
    rate = len(texts) / (time.perf_counter() - start)
    judgement = judge(tagger.truth([labels for _, labels in test]), ranking)
    with_example = {label for _, labels in train for label in labels}
    unseen = [(row, label) for row, (_, labels) in enumerate(test) for label in labels if label not in with_example]
    hits = sum(label in {ranking.names[i] for i in ranking.indices[row] if i >= 0} for row, label in unseen)
    return {
        "seconds": seconds,
        **{m: interval(m, judgement) for m in MEASURES},
        "texts_a_second": rate,
        "edges": tagger.n_edges,
        "bytes_a_row": tagger.nbytes / len(train),
        "labels_without_example": len(unseen),
        "R@10_without_example": hits / max(1, len(unseen)),
    }


def ratings() -> dict[str, Any]:
    """Compare one pass with several on the matrix of finna-100k."""
    data = sets.load("finna-100k")
    rankers = {
        "feature focus": FeatureFocus(),
        "learned ratings, 1 pass": FeatureFocus(rating="learned"),
        "learned ratings, 3 passes": FeatureFocus(rating="learned", passes=3),
        "cascade, 1 pass": Cascade(passes=1, calibrate=False),
        "cascade, 2 passes": Cascade(passes=2, calibrate=False),
        "cascade, 4 passes": Cascade(passes=4, calibrate=False),
        "cascade, w_min .005, d_max 30, 2 passes": Cascade(w_min=0.005, d_max=30, passes=2, calibrate=False),
    }
    found = {}
    for name, ranker in rankers.items():
        start = time.perf_counter()
        ranker.fit(data.X_train, data.Y_train)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        ranking = ranker.rank(data.X_test, 5)
        rate = data.X_test.shape[0] / (time.perf_counter() - start)
        figures = evaluate(ranker.truth(data.Y_test), ranking, MEASURES)
        found[name] = {
            "seconds": seconds,
            **figures,
            "rows_a_second": rate,
            "edges": ranker.n_edges_,
            "bytes_a_row": ranker.nbytes_ / data.X_train.shape[0],
        }
    return {"set": data.describe(), "runs": found}


def growth(sizes: tuple[int, ...] = GROWTH, draw: bool = True) -> dict[str, Any]:
    """Learn a growing number of Finnish titles, and fit how time and edges per row scale."""
    rows = list(zip(sets.finna_rows("fi"), range(max(sizes) + GROWTH_TEST), strict=False))
    test = [row for row, _ in rows[-GROWTH_TEST:]]
    tagger, points, done, seconds = Tagger(), [], 0, 0.0
    for size in sizes:  # one stream, measured at several points
        part = [row for row, _ in rows[done:size]]
        start = time.perf_counter()
        tagger.learn_many([text for text, _ in part], [labels for _, labels in part])
        spent = time.perf_counter() - start
        seconds += spent
        judgement = judge(
            tagger.truth([labels for _, labels in test]), tagger.rank_arrays([text for text, _ in test], 5)
        )
        points.append(
            {
                "rows": size,
                "microseconds_a_row": 1e6 * spent / (size - done),
                "edges_a_row": tagger.n_edges / size,
                "megabytes": tagger.nbytes / 1e6,
                "P@1": interval("P@1", judgement),
            }
        )
        done = size
    result = {
        "points": points,
        "seconds": seconds,
        "exponent_of_time_a_row": _slope(points, "microseconds_a_row"),
        "exponent_of_edges_a_row": _slope(points, "edges_a_row"),
    }
    if draw:
        picture(points)
    return result


def _slope(points: list[dict[str, Any]], figure: str) -> float:
    x = [math.log(point["rows"]) for point in points]
    y = [math.log(point[figure]) for point in points]
    return float(np.polyfit(x, y, 1)[0])


def picture(points: list[dict[str, Any]]) -> None:
    """Draw time, edges and precision by the number of rows."""
    import matplotlib.pyplot as plt

    rows = [point["rows"] for point in points]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for axis, (name, title) in zip(
        axes,
        (("microseconds_a_row", "microseconds per row"), ("edges_a_row", "edges per row"), ("P@1", "held-out P@1")),
        strict=True,
    ):
        values = [point[name][0] if name == "P@1" else point[name] for point in points]
        axis.plot(rows, values, "o-", color="#0072b2", clip_on=False)
        axis.set(xscale="log", xlabel="rows learned", title=title, ylim=(0, 1.08 * max(values)))
        axis.set_xticks(rows, [f"{n / 1000:g}k" for n in rows], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "cascade-growth.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cascade", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("names", "growth", "picture", "ratings"))
    command = parser.parse_args().command
    if command == "picture":
        picture(json.loads((RESULTS / "cascade-growth.json").read_text())["points"])
        return
    result = {"machine": machine_line(), **globals()[command]()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"cascade-{command}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
