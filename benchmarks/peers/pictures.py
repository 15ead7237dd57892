"""Draw the result: accuracy by training time, by memory, and by label frequency."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import HERE
from benchmarks.peers.registry import OURS
from benchmarks.peers.tables import MANY, finished

IMAGES = HERE.parents[1] / "docs" / "images"
# Okabe and Ito's colours, which colour-blind people can distinguish; markers distinguish systems in print.
STYLES = {
    "abound": ("#0072B2", "o"),
    "omikuji": ("#D55E00", "s"),
    "pecos": ("#009E73", "^"),
    "napkinxc": ("#56B4E9", "v"),
    "fasttext": ("#CC79A7", "D"),
    "vw": ("#E69F00", "P"),
    "linearsvc": ("#000000", "X"),
    "sgd": ("#666666", "<"),
    "river": ("#999999", ">"),
    "minilm": ("#F0E442", "*"),
}
TITLES = {
    "pecos": "PECOS",
    "napkinxc": "napkinXC",
    "vw": "Vowpal Wabbit",
    "fasttext": "fastText",
    "linearsvc": "LinearSVC",
    "sgd": "SGDClassifier",
    "minilm": "MiniLM",
}
LEAST_SHOWN = 0.6  # of the best
CURVE = tuple(f"abound-{n}" for n in (1, 2, 3, 5, 8))


def family(peer: str) -> str:
    return peer.partition("-")[0]


def draw(result: dict[str, Any], folder: Path = IMAGES) -> None:
    """Draw all pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for few, part in ((False, ""), (True, "-few")):
        names = [
            name
            for name, found in result["sets"].items()
            if (found["labels"] <= MANY) == few and finished(result, name, ["linear"])
        ]
        if names:
            against(result, names, "train_cpu_seconds", "training, core-seconds", folder / f"peers-time{part}.png")
            against(result, names, "peak_megabytes", "most memory, MB", folder / f"peers-memory{part}.png")
            several = [name for name in names if sum(n > 0 for n in result["sets"][name]["buckets"].values()) > 1]
            by_frequency(result, several, folder / f"peers-frequency{part}.png")


def panels(names: list[str], titles: list[str], draw_one: Callable[[Any, str], None], path: Path, **words: str) -> None:
    """Draw a panel for each data set under one legend."""
    from matplotlib import pyplot as plt

    columns = min(3, len(names))
    n_rows = -(-len(names) // columns)
    figure, grid = plt.subplots(
        n_rows, columns, figsize=(max(3.3 * columns, 8), 2.6 * n_rows + 0.6), layout="constrained", squeeze=False
    )
    handles: dict[str, Any] = {}
    for axes, name, title in zip(grid.ravel(), names, titles, strict=False):
        draw_one(axes, name)
        axes.set_title(title, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        found, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, found, strict=True))
    for axes in grid.ravel()[len(names) :]:
        axes.axis("off")
    figure.supylabel(words["ylabel"], fontsize=10)
    figure.supxlabel(words["xlabel"], fontsize=10)
    order = [TITLES.get(key, key) for key in STYLES if TITLES.get(key, key) in handles]
    figure.legend(
        [handles[label] for label in order], order, loc="outside upper center", ncols=min(5, len(order)), frameon=False
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def titles(result: dict[str, Any], names: list[str]) -> list[str]:
    return [f"{name}, {result['sets'][name]['labels']:,} labels" for name in names]


def against(result: dict[str, Any], names: list[str], cost: str, xlabel: str, path: Path, measure: str = "P@1") -> None:
    """Draw a measure by its cost: our passes as a curve, a marker for each system and setting."""
    from matplotlib.ticker import NullFormatter

    def one(axes: Any, name: str) -> None:
        cells = finished(result, name, ["ours", "passes", "linear", "embeddings"])
        values = {peer: cell["accuracy"][measure][0] for peer, cell in cells.items()}
        floor = LEAST_SHOWN * max(values.values())
        curve = [(cells[peer][cost], values[peer]) for peer in CURVE if peer in cells]
        if curve:
            axes.plot(*zip(*curve, strict=True), color=STYLES[OURS][0], linewidth=1.2, zorder=2)
        for peer, value in values.items():
            color, mark = STYLES[family(peer)]
            size = 3 if peer in CURVE else 9 if peer == OURS or mark == "*" else 6
            edge = "black" if peer == OURS or mark == "*" else color
            axes.plot(
                [cells[peer][cost]],
                [max(value, floor)],
                mark,
                color=color,
                fillstyle="full" if value >= floor else "none",
                label=None if peer in CURVE else TITLES.get(family(peer), family(peer)),
                markersize=size,
                markeredgecolor=edge,
                markeredgewidth=0.8,
                clip_on=False,
                zorder=3,
            )
        axes.set(xscale="log", ylim=(floor, None))
        axes.xaxis.set_minor_formatter(NullFormatter())

    words = f"{xlabel} (logarithmic). The line is ours by passes, a mark a setting, an open one is below the axis"
    panels(names, titles(result, names), one, path, ylabel=measure, xlabel=words)


def by_frequency(result: dict[str, Any], names: list[str], path: Path) -> None:
    """Draw the recall of labels by the number of their training rows, for the most accurate setting of each family."""

    def one(axes: Any, name: str) -> None:
        found = result["sets"][name]
        shown = [i for i, pairs in enumerate(found["buckets"].values()) if pairs and i > 0]
        cells = finished(result, name, ["ours", "linear", "embeddings"])
        for key, (color, mark) in STYLES.items():
            own = {peer: cell for peer, cell in cells.items() if family(peer) == key}
            if not own:
                continue
            chosen = OURS if key == OURS else max(own, key=lambda peer: own[peer]["accuracy"]["P@5"][0])
            axes.plot(
                range(len(shown)),
                [own[chosen]["by_frequency"][i] for i in shown],
                color=color,
                marker=mark,
                markersize=4,
                label=TITLES.get(key, key),
                linewidth=2 if key == OURS else 1,
                zorder=3 if key == OURS else 2,
            )
        axes.set_xticks(range(len(shown)), [list(found["buckets"])[i] for i in shown], rotation=40, ha="right")
        axes.set(ylim=(0, 1))

    words = "training rows of a label; each family's setting with the best P@5, ours with its defaults"
    panels(names, titles(result, names), one, path, ylabel="recall in the first 5", xlabel=words)
