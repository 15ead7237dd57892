"""Draw the results: accuracy by training time and by memory, and recall by the frequency of labels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.comparison import results
from benchmarks.comparison.registry import FEW_SETS, FORMS, OURS, SYSTEMS
from benchmarks.comparison.standings import PEERS, Result, finished

IMAGES = results.ROOT / "docs" / "images"
# Okabe and Ito's colours, which colour-blind people can distinguish; markers distinguish systems in print.
STYLES = {
    OURS: ("#0072B2", "o"),
    "omikuji": ("#D55E00", "s"),
    "pecos": ("#009E73", "^"),
    "napkinxc": ("#56B4E9", "v"),
    "fasttext": ("#CC79A7", "D"),
    "vw": ("#E69F00", "P"),
    "linearsvc": ("#000000", "X"),
}
LEAST_SHOWN = 0.6  # of the best
COSTS = {
    "time": ("train_cpu_seconds", "training, core-seconds", "P@1 against training time"),
    "memory": ("peak_megabytes", "most memory, MB", "P@1 against memory"),
}
FREQUENCY = "Recall in the first five by the number of training rows of a label"
PARTS = {"": "data sets with many labels", "-few": "data sets with few labels"}


def of(found: dict[str, Result]) -> dict[str, str]:
    """Return the pictures of results, by file name, with their descriptions."""
    pictures = {}
    for part, which in PARTS.items():
        names = _names(found, part)
        if names:
            pictures |= {f"peers-{kind}{part}.png": f"{words}, {which}" for kind, (*_, words) in COSTS.items()}
        if any(_buckets(found[name]) for name in names):
            pictures[f"peers-frequency{part}.png"] = f"{FREQUENCY}, {which}"
    return pictures


def draw(found: dict[str, Result], folder: Path = IMAGES) -> None:
    """Draw all pictures, and remove those without data."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("peers-*.png"):
        path.unlink()
    for part in PARTS:
        names = _names(found, part)
        if not names:
            continue
        for kind, (cost, xlabel, _) in COSTS.items():
            _against(found, names, cost, xlabel, folder / f"peers-{kind}{part}.png")
        several = [name for name in names if _buckets(found[name])]
        if several:
            _by_frequency(found, several, folder / f"peers-frequency{part}.png")


def _names(found: dict[str, Result], part: str) -> list[str]:
    return [
        name for name, result in found.items() if (name in FEW_SETS) == bool(part) and finished(result, "tuned", PEERS)
    ]


def _buckets(result: Result) -> list[int]:
    """Return the buckets of labels that have training rows, if there are several."""
    shown = [i for i, pairs in enumerate(result["buckets"].values()) if pairs and i > 0]
    return shown if len(shown) > 1 else []


def _panels(
    found: dict[str, Result], names: list[str], draw_one: Callable[[Any, str], None], path: Path, **words: str
) -> None:
    """Draw a panel for each data set under one legend."""
    from matplotlib import pyplot as plt

    columns = min(3, len(names))
    n_rows = -(-len(names) // columns)
    size = (max(3.3 * columns, 8), 2.6 * n_rows + 0.6)
    figure, grid = plt.subplots(n_rows, columns, figsize=size, layout="constrained", squeeze=False)
    handles: dict[str, Any] = {}
    for axes, name in zip(grid.ravel(), names, strict=False):
        draw_one(axes, name)
        axes.set_title(f"{name}, {found[name]['labels']:,} labels", fontsize=9)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        drawn, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, drawn, strict=True))
    for axes in grid.ravel()[len(names) :]:
        axes.axis("off")
    figure.supylabel(words["ylabel"], fontsize=10)
    figure.supxlabel(words["xlabel"], fontsize=10)
    order = [SYSTEMS[name].name for name in STYLES if SYSTEMS[name].name in handles]
    shown = [handles[label] for label in order]
    figure.legend(shown, order, loc="outside upper center", ncols=min(4, len(order)), frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _against(found: dict[str, Result], names: list[str], cost: str, xlabel: str, path: Path) -> None:
    """Draw P@1 by a cost: a line from the default, which is small, to the tuned setting, which is large."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    def one(axes: Any, name: str) -> None:
        cells = {form: finished(found[name], form, STYLES) for form in FORMS}
        values = {form: {n: c["accuracy"]["P@1"][0] for n, c in cells[form].items()} for form in FORMS}
        floor = LEAST_SHOWN * max(value for each in values.values() for value in each.values())
        for system, (color, mark) in STYLES.items():
            forms = [form for form in FORMS if system in cells[form]]
            x = [results.costs(cells[form][system])[cost] for form in forms]
            y = [max(values[form][system], floor) for form in forms]
            axes.plot(x, y, color=color, linewidth=0.8, zorder=2)
            for form, across, up in zip(forms, x, y, strict=True):
                is_low = values[form][system] < floor
                axes.plot(
                    [across],
                    [up],
                    mark,
                    color=color,
                    fillstyle="none" if is_low else "full",
                    markersize=8 if form == FORMS[-1] else 4,
                    markeredgecolor="black" if system == OURS else color,
                    markeredgewidth=0.8,
                    label=SYSTEMS[system].name if form == FORMS[-1] else None,
                    clip_on=False,
                    zorder=3,
                )
        axes.set(xscale="log", ylim=(floor, None))
        left, right = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if right > 100 * left else (1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())

    words = f"{xlabel} (logarithmic). Small: default, large: tuned, open: below the axis"
    _panels(found, names, one, path, ylabel="P@1", xlabel=words)


def _by_frequency(found: dict[str, Result], names: list[str], path: Path) -> None:
    """Draw the recall of labels by the number of their training rows, with tuned settings."""

    def one(axes: Any, name: str) -> None:
        result = found[name]
        shown, cells = _buckets(result), finished(result, "tuned", STYLES)
        for system, cell in cells.items():
            color, mark = STYLES[system]
            axes.plot(
                range(len(shown)),
                [cell["by_frequency"][i] for i in shown],
                color=color,
                marker=mark,
                markersize=4,
                label=SYSTEMS[system].name,
                linewidth=2 if system == OURS else 1,
                zorder=3 if system == OURS else 2,
            )
        axes.set_xticks(range(len(shown)), [list(result["buckets"])[i] for i in shown], rotation=40, ha="right")
        axes.set(ylim=(0, 1))

    _panels(found, names, one, path, ylabel="recall in the first 5", xlabel="training rows of a label; tuned settings")
