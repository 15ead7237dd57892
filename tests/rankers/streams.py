"""What the tests of the rankers share: every ranker, and random sparse streams."""

import numpy as np
import scipy.sparse as sp

from abound import Cascade, FeatureFocus
from abound.estimators import estimator_class
from abound.rankers import KINDS

# One of each kind as it comes, and those that another parameter makes another learner.
VARIANTS = [
    *(estimator_class(kind)() for kind in KINDS),
    FeatureFocus(rating="learned"),
    Cascade(few_labels=0),
]


def stream(n_rows=200, n_features=60, n_labels=20, seed=0):
    """Rows whose features point at their labels, with noise; one to three labels a row."""
    rng = np.random.default_rng(seed)
    X = sp.lil_array((n_rows, n_features))
    Y = []
    for row in range(n_rows):
        labels = rng.choice(n_labels, size=rng.integers(1, 4), replace=False).tolist()
        for feature in [3 * label % n_features for label in labels] + rng.integers(n_features, size=4).tolist():
            X[row, feature] = rng.random() + 0.01
        Y.append([f"label {label}" for label in labels])
    return sp.csr_array(X), Y
