"""Draw figures 3, 4 and 6 of the category-ranking paper."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from abound.metrics import Judgement
from benchmarks.papers.mmp_corpora import Corpus
from benchmarks.papers.mmp_runs import precision_and_recall

mpl.use("Agg")
from matplotlib import pyplot as plt

# Okabe and Ito's colours, which colour-blind people can distinguish; each system also has a line style.
STYLES = {
    "Rocchio": ("#000000", ":"),
    "Perceptron": ("#D55E00", (0, (5, 2))),
    "MMP l.1": ("#0072B2", "-"),
    "MMP l.2": ("#CC79A7", (0, (1, 1))),
    "MMP l.3": ("#009E73", "-."),
    "MMP averaged": ("#56B4E9", "-"),
}


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def label_counts(corpora: list[Corpus], path: Path, most: int = 10) -> None:
    """Draw figure 3: the distribution of the number of labels per document."""
    figure, panels = plt.subplots(1, len(corpora), figsize=(3.6 * len(corpora), 3), layout="constrained", squeeze=False)
    for axes, corpus in zip(panels[0], corpora, strict=True):
        # With folds, the test documents of all parts contain each document once.
        counts = np.concatenate([np.diff(part.Y_test.indptr) for part in corpus.parts])
        shares = np.bincount(np.minimum(counts, most), minlength=most + 1)[1:] / len(counts)
        axes.bar(np.arange(1, most + 1), shares, color="#0072B2")
        axes.set_xticks(np.arange(1, most + 1), [*map(str, range(1, most)), f"{most}+"])
        axes.set(title=corpus.name, xlabel="labels of a document", ylim=(0, 1))
        _plain(axes)
    panels[0][0].set_ylabel("share of the documents")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def round_averages(curves: dict[str, dict[str, np.ndarray]], title: str, path: Path) -> None:
    """Draw figure 4: the mean loss up to each round, rounds on a logarithmic axis."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axes, loss in zip(panels, ("loss1", "loss2", "loss3"), strict=True):
        for name, losses in curves.items():
            color, line = STYLES[name]
            rounds = np.arange(1, len(losses[loss]) + 1)
            axes.plot(rounds[9:], losses[loss][9:], color=color, linestyle=line, label=name)
        axes.set(xscale="log", xlabel="round", title=f"{loss}, mean up to the round", ylim=0)
        _plain(axes)
    panels[0].legend(frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def precision_against_recall(judged: dict[str, dict[str, Judgement]], path: Path) -> None:
    """Draw figure 6: mean precision by mean recall at every rank."""
    figure, panels = plt.subplots(1, len(judged), figsize=(4.6 * len(judged), 4), layout="constrained", squeeze=False)
    for axes, (corpus, judgements) in zip(panels[0], judged.items(), strict=True):
        for name, (color, line) in STYLES.items():
            precision, recall = precision_and_recall(judgements[name])
            axes.plot(recall, precision, color=color, linestyle=line, label=name)
        axes.set(title=corpus, xlabel="recall", xlim=(0.2, 1.0), ylim=(0, 1))
        _plain(axes)
    panels[0][0].set_ylabel("precision")
    panels[0][0].legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)
    plt.close(figure)
