"""MiniLM embeddings and a linear head: ridge regression on all labels together, or a softmax trained with Adam.

The targets of the softmax are the labels of a row with equal shares; 10 epochs, rate 0.01, 256 rows per step.
"""

import harness
import minilm
import numpy as np

ROWS_AT_ONCE = 1000


class Linear(minilm.Embedded):
    name = "MiniLM + linear head"
    settings = {  # noqa: RUF012
        "default": ("ridge regression, alpha 1", {"alpha": 1.0}),
        "softmax": ("softmax, Adam, 10 epochs", {"epochs": 10, "rate": 0.01, "rows": 256}),
    }

    def train(self, X, Y, folder):
        vectors = self.vectors(X, "train")
        if "alpha" not in self.options:
            return self.softmax(vectors, Y)
        square = vectors.T @ vectors + self.options["alpha"] * np.eye(vectors.shape[1], dtype=np.float32)
        return np.linalg.solve(square, np.asarray((Y.T @ vectors).T)).astype(np.float32)

    def softmax(self, vectors, Y):
        import torch

        torch.manual_seed(0)
        head = torch.nn.Linear(vectors.shape[1], Y.shape[1])
        optimizer = torch.optim.Adam(head.parameters(), lr=self.options["rate"])
        given = torch.from_numpy(vectors)
        for _ in range(self.options["epochs"]):
            for rows in torch.randperm(len(given)).split(self.options["rows"]):
                wanted = torch.from_numpy(Y[rows.numpy()].toarray())
                wanted /= wanted.sum(axis=1, keepdim=True).clamp(min=1)
                loss = torch.nn.functional.cross_entropy(head(given[rows]), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return head.weight.detach().numpy().T.copy()

    def save(self, model, folder):
        np.save(folder / "head.npy", model)

    def rank(self, model, X):
        vectors = self.vectors(X, "test")
        starts = range(0, len(vectors), ROWS_AT_ONCE)
        parts = [harness.best_of_dense(vectors[start : start + ROWS_AT_ONCE] @ model) for start in starts]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def rank_one(self, model, row):
        return harness.best_of_dense(self.encode([row]) @ model)


if __name__ == "__main__":
    harness.run(Linear)
