"""Draw figures 3 to 6 of the category-ranking paper."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.papers.mmp.runs import LOSSES, ONLINE

mpl.use("Agg")
from matplotlib import pyplot as plt

# Okabe and Ito's colours, which colour-blind people can distinguish; each system also has a line style.
STYLES = {
    "Rocchio": ("#000000", ":"),
    "Perceptron": ("#D55E00", (0, (5, 2))),
    "MMP l.1": ("#0072B2", "-"),
    "MMP l.2": ("#CC79A7", (0, (1, 1))),
    "MMP l.3": ("#009E73", "-."),
    "MMP l.1 averaged, 3 passes": ("#56B4E9", "-"),
}


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def label_counts(corpora: dict[str, Any], path: Path, most: int = 10) -> None:
    """Draw figure 3: the distribution of the number of labels per document."""
    figure, panels = plt.subplots(1, len(corpora), figsize=(3.6 * len(corpora), 3), layout="constrained", squeeze=False)
    for axes, (name, corpus) in zip(panels[0], corpora.items(), strict=True):
        counts = np.array(corpus["label counts"], float)
        shares = np.zeros(most + 1)
        shares[: min(most, len(counts))] = counts[:most]
        shares[most] = counts[most:].sum()
        axes.bar(np.arange(1, most + 1), shares[1:] / counts.sum(), color="#0072B2")
        axes.set_xticks(np.arange(1, most + 1), [*map(str, range(1, most)), f"{most}+"])
        axes.set(title=name, xlabel="labels of a document", ylim=(0, 1))
        _plain(axes)
    panels[0][0].set_ylabel("share of the documents")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def round_averages(seeds: list[dict[str, Any]], title: str, path: Path) -> None:
    """Draw figure 4 or 5: the mean loss up to each round, over the seeds; the band is the lowest and the highest."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axes, loss in zip(panels, LOSSES, strict=True):
        for name in ONLINE:
            color, line = STYLES[name]
            curves = np.array([one[name][loss] for one in seeds])
            rounds = seeds[0]["rounds"]["all"]
            axes.plot(rounds, curves.mean(axis=0), color=color, linestyle=line, label=name)
            axes.fill_between(rounds, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.15, linewidth=0)
        axes.set(xscale="log", xlabel="round", title=f"{loss}, mean up to the round", ylim=0)
        _plain(axes)
    panels[0].legend(frameon=False, loc="upper right")
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def precision_against_recall(curves: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw figure 6: mean precision by mean recall at every rank, each the mean of the seeds."""
    figure, panels = plt.subplots(1, len(curves), figsize=(4.6 * len(curves), 4), layout="constrained", squeeze=False)
    for axes, (corpus, seeds) in zip(panels[0], curves.items(), strict=True):
        for name, (color, line) in STYLES.items():
            precision, recall = np.mean([one[name] for one in seeds], axis=0)
            axes.plot(recall, precision, color=color, linestyle=line, label=name)
        axes.set(title=corpus, xlabel="recall", xlim=(0.2, 1.0), ylim=(0, 1))
        _plain(axes)
    panels[0][0].set_ylabel("precision")
    panels[0][0].legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)
    plt.close(figure)
