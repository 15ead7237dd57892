"""PECOS XR-Linear with its defaults: PIFA label features, a hierarchical tree, squared hinge."""

import harness
import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel


class Pecos(harness.System):
    name = "PECOS XR-Linear"

    def version(self):
        from importlib.metadata import version

        return version("libpecos")

    def train(self, X, Y, folder):
        X, Y = sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y, dtype=np.float32)
        tree = Indexer.gen(LabelEmbeddingFactory.create(Y, X))
        return XLinearModel.train(X, Y, C=tree, threads=self.threads)

    def save(self, model, folder):
        model.save(str(folder / "model"))

    def rank(self, model, X):
        found = model.predict(sp.csr_matrix(X, dtype=np.float32), only_topk=harness.K, threads=self.threads)
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
        return model.predict(row, only_topk=harness.K, threads=1)


if __name__ == "__main__":
    harness.run(Pecos())
