"""Train and test one ordinal system on the parts of a task; runs in the environment of the system.

ordinal.py SYSTEM INPUT OUTPUT, where INPUT contains X_train-0.npz, y_train-0.npy and so on.
"""

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

C = 1.0  # scikit-learn's default; the alphas of mord and Ridge are 1 too


class Rounded:
    """A regression whose predictions are rounded to the nearest rank."""

    def __init__(self, regression):
        self.regression = regression

    def fit(self, X, y):
        self.low, self.high = y.min(), y.max()
        self.regression.fit(X, y)
        return self

    def predict(self, X):
        return np.clip(np.rint(self.regression.predict(X)), self.low, self.high).astype(int)


class FromZero:
    """A model that requires consecutive ranks from 0."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.low = y.min()
        self.model.fit(X, y - self.low)
        return self

    def predict(self, X):
        return self.model.predict(X) + self.low


def make(name):
    if name == "PRank":
        from abound import PRank

        return PRank(passes=3, margin=1.0)
    if name == "PRank 1 pass":
        from abound import PRank

        return PRank()
    if name.startswith("mord"):
        return FromZero(getattr(importlib.import_module("mord"), name.split()[1])())
    from sklearn import linear_model

    if name == "Ridge rounded":
        return Rounded(linear_model.Ridge())
    return linear_model.LogisticRegression(C=C, max_iter=1000)


def version(name):
    package = {"P": "abound", "m": "mord"}.get(name[0], "sklearn")
    from importlib import metadata

    return metadata.version("scikit-learn" if package == "sklearn" else package)


def main():
    name, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    target.mkdir(parents=True, exist_ok=True)
    seconds = 0.0
    make(name)  # imports do not count as training
    for number in range(len(list(source.glob("y_train-*.npy")))):
        X, X_test = (sp.csr_matrix(sp.load_npz(source / f"{m}-{number}.npz")) for m in ("X_train", "X_test"))
        y, model = np.load(source / f"y_train-{number}.npy"), make(name)
        start = time.perf_counter()
        model.fit(X, y)
        seconds += time.perf_counter() - start
        np.save(target / f"predicted-{number}.npy", np.asarray(model.predict(X_test)).astype(int))
    (target / "figures.json").write_text(json.dumps({"train_seconds": seconds, "version": version(name)}))


if __name__ == "__main__":
    main()
