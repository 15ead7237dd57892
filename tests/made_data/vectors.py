"""Rows of given features with several labels, in svmlight's format."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.made_data.files import write_lines

# File, rows, features, labels; rows and labels of bibtex and rcv1 are as many as in the real files.
MULAN = (
    ("mulan/bibtex/bibtex-train.svm.xz", 4_880, 1_836, 159),
    ("mulan/bibtex/bibtex-test.svm.xz", 500, 1_836, 159),
    ("mulan/medical/medical-train.svm.xz", 300, 1_449, 45),
)
SUBSETS = 2
HALF, RCV1_FEATURES, RCV1_LABELS = 3_000, 944, 101


def rows(n_rows: int, n_features: int, n_labels: int, seed: int) -> Iterator[str]:
    """Yield rows of one to four labels: each label has eight features of its own, of which a row has three."""
    rng = np.random.default_rng(seed)
    own = rng.integers(n_features, size=(n_labels, 8))
    shares = 1 / (np.arange(n_labels) + 5)
    labels = rng.choice(n_labels, (n_rows, 4), p=shares / shares.sum())
    labels[:n_labels, 0] = np.arange(n_labels)[:n_rows]  # so that each occurs
    n_given = rng.integers(1, 5, n_rows)
    picked, noise = rng.integers(8, size=(n_rows, 4, 3)), rng.integers(n_features, size=(n_rows, 6))
    for i in range(n_rows):
        given = labels[i, : n_given[i]]
        features = {*own[given[:, None], picked[i, : n_given[i]]].ravel().tolist(), *noise[i].tolist()}
        names = ",".join(map(str, sorted(set(given.tolist()))))
        yield f"{names} {' '.join(f'{feature}:1' for feature in sorted(features))}"


def write(folder: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, *sizes in MULAN:
        counts |= write_lines(folder, name, rows(*sizes, seed=sizes[-1]))
    for subset in range(1, SUBSETS + 1):
        halves = [rows(HALF, RCV1_FEATURES, RCV1_LABELS, seed=10 * subset + half) for half in (0, 1)]
        name = f"rcv1-subsets/rcv1subset{subset}_top944.svm.xz"
        counts |= write_lines(folder, name, (line for half in halves for line in half))
    return counts
