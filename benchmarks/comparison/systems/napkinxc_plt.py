"""napkinXC's probabilistic label trees."""

import shutil

import harness
from napkinxc.models import PLT


class Napkin(harness.System):
    def version(self):
        from importlib.metadata import version

        return version("napkinxc")

    def prepare(self, X, Y, folder):
        self.known = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(Y.shape[0])]

    def train(self, X, Y, folder):
        self.trained = folder / "trained"
        model = PLT(str(self.trained), seed=0, threads=self.threads, **self.options)
        model.fit(X, self.known)
        return model

    def opened(self, model, folder):
        model.load()
        return model

    def save(self, model, folder):
        shutil.copytree(self.trained, folder, dirs_exist_ok=True)

    def rank(self, model, inputs):
        return model.predict_proba(inputs, top_k=harness.K)

    def rank_one(self, model, row):
        return model.predict_proba(row, top_k=harness.K)


if __name__ == "__main__":
    harness.run(Napkin)
