"""The result as pictures: accuracy against training time and against memory, and by label frequency."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import HERE
from benchmarks.peers.registry import OURS
from benchmarks.peers.tables import MANY, finished

IMAGES = HERE.parents[1] / "docs" / "images"
# Okabe and Ito's colours, told apart by the colour-blind; marks tell them apart in print.
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
TITLES = {"abound": "abound", "pecos": "PECOS", "vw": "Vowpal Wabbit", "fasttext": "fastText", "minilm": "MiniLM"}
CURVE = tuple(f"abound-{n}" for n in (1, 2, 3, 5, 8))


def family(peer: str) -> str:
    return peer.partition("-")[0]


def draw(result: dict[str, Any], folder: Path = IMAGES) -> None:
    """Draw all pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    against(result, "train_cpu_seconds", "training, core-seconds", folder / "peers-time.png")
    against(result, "peak_megabytes", "most memory, MB", folder / "peers-memory.png")
    by_frequency(result, folder / "peers-frequency.png")


def panels(result: dict[str, Any], draw_one: Callable[[Any, str], None], path: Path, ylabel: str, xlabel: str) -> None:
    """Draw a panel for each set, many labels first, under one legend."""
    from matplotlib import pyplot as plt

    names = [name for name in result["sets"] if finished(result, name, ["linear"])]
    names.sort(key=lambda name: result["sets"][name]["labels"] <= MANY)
    columns = min(4, len(names))
    n_rows = -(-len(names) // columns)
    figure, grid = plt.subplots(
        n_rows, columns, figsize=(3.1 * columns, 2.6 * n_rows + 0.6), layout="constrained", squeeze=False
    )
    handles: dict[str, Any] = {}
    for axes, name in zip(grid.ravel(), names, strict=False):
        draw_one(axes, name)
        axes.set_title(f"{name}, {result['sets'][name]['labels']:,} labels", fontsize=9)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        found, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, found, strict=True))
    for axes in grid.ravel()[len(names) :]:
        axes.axis("off")
    figure.supylabel(ylabel, fontsize=10)
    figure.supxlabel(xlabel, fontsize=10)
    order = [TITLES.get(key, key) for key in STYLES if TITLES.get(key, key) in handles]
    figure.legend(
        [handles[label] for label in order], order, loc="outside upper center", ncols=len(order), frameon=False
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def against(result: dict[str, Any], cost: str, xlabel: str, path: Path, measure: str = "P@1") -> None:
    """Draw a measure against what it costs: our passes as a curve, a mark for each peer and setting."""

    def one(axes: Any, name: str) -> None:
        cells = finished(result, name, ["ours", "passes", "linear", "embeddings"])
        curve = [peer for peer in CURVE if peer in cells]
        points = [(cells[peer][cost], cells[peer]["accuracy"][measure][0]) for peer in curve]
        if points:
            axes.plot(*zip(*points, strict=True), color=STYLES[OURS][0], linewidth=1.2, zorder=2)
        for peer, cell in cells.items():
            color, mark = STYLES[family(peer)]
            small = peer in CURVE
            axes.plot(
                *([cell[cost]], [cell["accuracy"][measure][0]], mark),
                color=color,
                markersize=3 if small else 9 if mark == "*" else 6,
                zorder=3,
                markeredgecolor="white" if mark != "*" else "black",
                markeredgewidth=0.5,
                **({} if small else {"label": TITLES.get(family(peer), family(peer))}),
            )
        axes.set(xscale="log", ylim=(0, None))

    panels(result, one, path, measure, f"{xlabel} (logarithmic); the line is ours by passes, a mark is a setting")


def by_frequency(result: dict[str, Any], path: Path) -> None:
    """Draw the recall of labels by the number of their training rows, of each family's most accurate setting."""

    def one(axes: Any, name: str) -> None:
        found = result["sets"][name]
        shown = [i for i, pairs in enumerate(found["buckets"].values()) if pairs and i > 0]
        labels = [list(found["buckets"])[i] for i in shown]
        cells = finished(result, name, ["ours", "linear", "embeddings"])
        for key, (color, mark) in STYLES.items():
            own = {peer: cell for peer, cell in cells.items() if family(peer) == key}
            if not own:
                continue
            chosen = OURS if key == OURS else max(own, key=lambda peer: own[peer]["accuracy"]["P@5"][0])
            axes.plot(
                *(range(len(shown)), [own[chosen]["by_frequency"][i] for i in shown]),
                color=color,
                marker=mark,
                markersize=4,
                label=TITLES.get(key, key),
                linewidth=2 if key == OURS else 1,
                zorder=3 if key == OURS else 2,
            )
        axes.set_xticks(range(len(shown)), labels, rotation=40, ha="right")
        axes.set(ylim=(0, 1))

    panels(result, one, path, "recall in the first 5", "training rows of a label")
