"""PECOS XR-Linear: PIFA label features, a hierarchical tree, squared hinge.

It ranks in its mode for prediction only, as its documentation recommends. Several seeds are several clusterings whose
scores are averaged, as its text2text tool recommends for accuracy.
"""

import harness
import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel


class Pecos(harness.System):
    def version(self):
        from importlib.metadata import version

        return version("libpecos")

    def train(self, X, Y, folder):
        X, Y = self.inputs(X), sp.csr_matrix(Y, dtype=np.float32)
        options = dict(self.options)
        seeds, negatives = options.pop("seeds", [0]), options.pop("negatives", "tfn")
        self.beam_size = options.pop("beam_size", 20)
        splits = {"nr_splits": options.pop("nr_splits")} if "nr_splits" in options else {}
        label_features = LabelEmbeddingFactory.create(Y, X)
        models = []
        for seed in seeds:
            tree = Indexer.gen(label_features, seed=seed, **splits)
            common = {"threads": self.threads, "negative_sampling_scheme": negatives}
            models.append(XLinearModel.train(X, Y, C=tree, **common, **options))
        return models

    def opened(self, model, folder):
        self.save(model, folder)
        return [XLinearModel.load(str(folder / f"model-{i}"), is_predict_only=True) for i in range(len(model))]

    def save(self, model, folder):
        for number, part in enumerate(model):
            part.save(str(folder / f"model-{number}"))

    def inputs(self, X):
        return sp.csr_matrix(X, dtype=np.float32)

    def rank(self, model, inputs):
        common = {"only_topk": harness.K, "beam_size": self.beam_size, "threads": self.threads}
        return sum(part.predict(inputs, **common) for part in model)

    def labels(self, model, answer):
        spans = [slice(answer.indptr[i], answer.indptr[i + 1]) for i in range(answer.shape[0])]
        return harness.padded([answer.indices[s][np.argsort(-answer.data[s], kind="stable")].tolist() for s in spans])

    def rank_one(self, model, row):
        common = {"only_topk": harness.K, "beam_size": self.beam_size, "threads": 1}
        return sum(part.predict(row, **common) for part in model)


if __name__ == "__main__":
    harness.run(Pecos)
