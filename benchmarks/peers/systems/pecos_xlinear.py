"""PECOS XR-Linear: PIFA label features, a hierarchical tree, squared hinge.

Its defaults; and the setting that its paper and its text2text tool recommend first for accuracy: three clusterings
whose scores are averaged, with matcher-aware negatives in addition to the teacher-forced ones.
"""

import harness
import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel


class Pecos(harness.System):
    name = "PECOS XR-Linear"
    settings = {  # noqa: RUF012
        "default": ("defaults", {"seeds": [0], "negatives": "tfn"}),
        "ensemble": ("three trees averaged, negatives tfn+man", {"seeds": [0, 1, 2], "negatives": "tfn+man"}),
    }

    def version(self):
        from importlib.metadata import version

        return version("libpecos")

    def train(self, X, Y, folder):
        X, Y = sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y, dtype=np.float32)
        label_features = LabelEmbeddingFactory.create(Y, X)
        models = []
        for seed in self.options["seeds"]:
            tree = Indexer.gen(label_features, seed=seed)
            options = {"threads": self.threads, "negative_sampling_scheme": self.options["negatives"]}
            models.append(XLinearModel.train(X, Y, C=tree, **options))
        return models

    def save(self, model, folder):
        for number, part in enumerate(model):
            part.save(str(folder / f"model-{number}"))

    def rank(self, model, X):
        X = sp.csr_matrix(X, dtype=np.float32)
        found = sum(part.predict(X, only_topk=harness.K, threads=self.threads) for part in model)
        lists = []
        for i in range(found.shape[0]):
            span = slice(found.indptr[i], found.indptr[i + 1])
            order = np.argsort(-found.data[span], kind="stable")
            lists.append(list(zip(found.indices[span][order], found.data[span][order], strict=True)))
        return harness.padded(lists)

    def rows(self, X):
        X = sp.csr_matrix(X, dtype=np.float32)
        return [X[i] for i in range(X.shape[0])]

    def rank_one(self, model, row):
        return sum(part.predict(row, only_topk=harness.K, threads=1) for part in model)


if __name__ == "__main__":
    harness.run(Pecos)
