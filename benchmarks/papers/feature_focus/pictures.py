"""Draw figures 12, 14, 19, 21 and 22 of the feature-focus paper."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.papers.feature_focus.runs import MARGINS

mpl.use("Agg")
from matplotlib import pyplot as plt

# Okabe and Ito's colours, which colour-blind people can distinguish; lines and markers distinguish them in print.
STYLES = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#E69F00", (0, (5, 1, 1, 1)), "v"),
)


def style(number: int) -> dict[str, Any]:
    color, line, mark = STYLES[number % len(STYLES)]
    return {"color": color, "linestyle": line, "marker": mark, "markersize": 4}


def of_margin(margin: str) -> dict[str, Any]:
    """Return the same style for the same margin in every panel."""
    return style(MARGINS.index(float(margin)))


def _save(figure: Any, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, facecolor="white")
    plt.close(figure)


def _panels(number: int, width: float = 4.6) -> tuple[Any, Any]:
    figure, panels = plt.subplots(1, number, figsize=(width * number, 3.6), layout="constrained", squeeze=False)
    return figure, panels[0]


def _one_legend(figure: Any) -> None:
    """Add one legend for all panels, sorted by margin."""
    pairs = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes]
    lines = {label: line for panel in pairs for line, label in panel}
    order = sorted(lines, key=lambda label: float(label.split()[1].rstrip(",")))
    figure.legend([lines[label] for label in order], order, frameon=False, loc="outside right center")


def edges_a_feature(corpora: dict[str, Any], path: Path) -> None:
    """Draw figure 12: R1 after one pass by the limit of edges per feature."""
    figure, (axes,) = _panels(1, 6)
    for number, (name, corpus) in enumerate(corpora.items()):
        bounds = [int(bound) for bound in corpus["degrees"]]
        values = [row["R1"] for row in corpus["degrees"].values()]
        axes.plot(bounds, values, label=name, **style(number))
    axes.set(xscale="log", xlabel="edges of a feature that vote (d_max)", ylabel="R1 after one pass", ylim=0)
    axes.set_xticks(bounds, [str(bound) for bound in bounds])
    axes.minorticks_off()
    axes.legend(frameon=False, ncols=2)
    _save(figure, path)


def passes_and_margins(corpora: dict[str, Any], path: Path) -> None:
    """Draw figure 14: R1 by pass for each margin, with deviations over the trials."""
    figure, panels = _panels(len(corpora))
    for axes, (name, corpus) in zip(panels, corpora.items(), strict=True):
        for margin, curve in corpus["curves"].items():
            passes, look = np.arange(1, len(curve["R1"]) + 1), of_margin(margin)
            axes.plot(passes, curve["R1"], label=f"margin {float(margin):g}", **look)
            low, high = (np.array(curve["R1"]) + sign * np.array(curve["deviation"]) for sign in (-1, 1))
            axes.fill_between(passes, low, high, color=look["color"], alpha=0.12, linewidth=0)
        axes.set(title=name, xlabel="passes", xticks=passes)
    panels[0].set_ylabel("R1 of held-out rows")
    _one_legend(figure)
    _save(figure, path)


def training_and_test(corpora: dict[str, Any], path: Path) -> None:
    """Draw figure 19: R1 of the training rows (hollow markers) and of the held-out rows, by pass."""
    figure, panels = _panels(len(corpora))
    for axes, (name, corpus) in zip(panels, corpora.items(), strict=True):
        for margin, curve in corpus["curves"].items():
            passes, look = np.arange(1, len(curve["R1"]) + 1), of_margin(margin)
            axes.plot(passes, curve["R1"], label=f"margin {float(margin):g}, held out", **look)
            axes.plot(passes, curve["training"], label=f"margin {float(margin):g}, training", mfc="white", **look)
        axes.set(title=name, xlabel="passes", xticks=passes)
    panels[0].set_ylabel("R1")
    _one_legend(figure)
    _save(figure, path)


def estimates(found: dict[str, Any], path: Path) -> None:
    """Draw figure 21: the error of the highest estimated share, by the true share."""
    figure, panels = _panels(2)
    for axes, (regime, title) in zip(
        panels, (("100 labels", "100 labels"), ("labels alike", "1 / p* labels, all alike")), strict=True
    ):
        for number, (w_min, curve) in enumerate(found[regime].items()):
            axes.plot(found["highest"], curve, label=f"w_min {float(w_min):g}", **style(number))
        axes.set(title=title, xscale="log", xlabel="true share of the most frequent label (p*)", ylim=0)
        axes.set_xticks([0.01, 0.03, 0.1, 0.3, 0.9], ["0.01", "0.03", "0.1", "0.3", "0.9"])
        axes.minorticks_off()
    panels[0].set_ylabel("|estimated - p*| / p*, mean")
    panels[0].legend(frameon=False)
    _save(figure, path)


def distances(found: dict[str, Any], path: Path) -> None:
    """Draw figure 22: the error of all estimated shares, by w_min."""
    figure, (axes,) = _panels(1)
    at, width = np.arange(len(found["l1"])), 0.38
    for number, (key, label) in enumerate((("l1", "sum of differences"), ("max", "largest difference"))):
        hatch = ("", "//")[number]
        places = at + (number - 0.5) * width
        axes.bar(places, list(found[key].values()), width, label=label, color=STYLES[number][0], hatch=hatch)
    axes.set_xticks(at, [f"{float(w_min):g}" for w_min in found["l1"]])
    axes.set(xlabel="w_min", ylabel="distance from the true shares, mean")
    axes.legend(frameon=False)
    _save(figure, path)


def draw(result: dict[str, Any], images: Path) -> None:
    """Draw all figures that the result has data for."""
    corpora = result["corpora"]
    some = {name: corpus for name, corpus in corpora.items() if "degrees" in corpus}
    if some:
        edges_a_feature(some, images / "feature-focus-figure-12.png")
    several = {
        name: corpora[name] for name in ("rcv1-subsets", "20news", "debian-tags", "reuters-10") if name in corpora
    }
    if several:
        passes_and_margins(dict(list(several.items())[:2]), images / "feature-focus-figure-14.png")
    watched = {n: c for n, c in corpora.items() if any("training" in curve for curve in c["curves"].values())}
    if watched:
        training_and_test(watched, images / "feature-focus-figure-19.png")
    if "appendix" in result:
        estimates(result["appendix"]["deviations"], images / "feature-focus-figure-21.png")
        distances(result["appendix"]["distances"], images / "feature-focus-figure-22.png")
