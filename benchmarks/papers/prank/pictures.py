"""Draw the plots of figure 3: time-averaged rank loss by round, with 95% intervals over seeds."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.prank.learners import LINEAR, MCP, MEAN, PRANK, VOTE, WH, WH_INTERCEPT

# Okabe and Ito's colours, which colour-blind people can distinguish; line styles distinguish them in print.
STYLES = {
    PRANK: ("#0072B2", "-"),
    MEAN: ("#009E73", "-."),
    VOTE: ("#56B4E9", (0, (5, 1))),
    WH: ("#E69F00", "--"),
    WH_INTERCEPT: ("#CC79A7", "--"),
    MCP: ("#D55E00", ":"),
}
TITLES = {
    "synthetic": "Synthetic, kernel (x·x' + 1)²",
    "jester-people": "Jester: a person from the other people",
    "jester-jokes": "Jester: a joke from the other jokes",
    "jester-people-shrunk": "Jester: a person from the others, rows shrunk",
    "jester-jokes-shrunk": "Jester: a joke from the others, rows shrunk",
}


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    """Draw one picture for each experiment; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, run in result["online"].items():
        paths.append(folder / f"prank-{name}.png")
        _draw_curves(run, TITLES.get(name, name), paths[-1])
    return paths


def _draw_curves(run: dict[str, Any], title: str, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    picture, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, seeds in run["curves"].items():
        if name == LINEAR:  # without the kernel, the losses are far above all others
            continue
        color, style = STYLES[name]
        curves = np.array(seeds)
        mean = curves.mean(axis=0)
        band = 1.96 * curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
        axes.plot(run["shown"], mean, linestyle=style, color=color, label=name)
        axes.fill_between(run["shown"], mean - band, mean + band, color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="round", ylabel="rank loss, averaged over the rounds", title=title, xscale="log")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    picture.savefig(path, dpi=150)
    plt.close(picture)
