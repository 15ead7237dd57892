"""A small corpus for the cluster."""

import random
from pathlib import Path
from typing import NamedTuple

from abound import Tagger, data

N_ROWS = 1500


class Corpus(NamedTuple):
    texts: list[str]
    labels: list[list[str]]

    def numbered(self):
        return [(7 * i - 5, text, labels) for i, (text, labels) in enumerate(zip(*self, strict=True))]

    def shuffled(self):
        rows = self.numbered()
        random.Random(1).shuffle(rows)
        return rows

    def fit(self, ranker, shards, params, **text):
        """Train on this machine, in as many shards."""
        tagger = Tagger(ranker, ranker_params={**params, "shards": shards}, **text)
        return tagger.fit(self.texts, self.labels)


def real_corpus(folder: Path) -> Corpus:
    documents = data.read(folder / "yso-finna-en" / "docs.tsv.xz", format="labels-tsv")
    rows = [document for document, _ in zip(documents, range(N_ROWS), strict=False)]
    return Corpus([row.text for row in rows], [list(row.labels) for row in rows])


def made_corpus() -> Corpus:
    rng = random.Random(0)
    texts, labels = [], []
    for _ in range(N_ROWS):
        found = rng.sample(range(60), rng.randint(0, 3))
        words = [f"topic{label}" for label in found] + [f"word{rng.randint(0, 300)}" for _ in range(5)]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append([f"label {label}" for label in found])
    return Corpus(texts, labels)
