"""What may be asked of a replica beside a plain ranking: with reasons, in bands, by features."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from abound.rankers.base import Rows
from abound.server.merged import rank_rows
from abound.server.replica import Replica
from abound.store.names import Name
from abound.tagger import BandedEntry, Entry, Tagger, WordVote


class Reasoned(NamedTuple):
    """A ranked label, the words that speak for it, and what any text has for it."""

    entry: Entry
    words: list[WordVote]
    prior: float


def rank_pairs(replica: Replica, text: str, k: int) -> list[tuple[Name, float]]:
    """Rank the labels of a text as pairs of label and score: what a server does most often, and nothing else."""
    with replica.reading():
        if replica.labels.n_hidden:
            return [(entry.label, entry.score) for entry in replica._rank_many([text], k)[0]]
        found = replica.tagger.rank_arrays([text], k)
        names = found.names
        pairs = zip(found.indices[0].tolist(), found.scores[0].tolist(), strict=True)
        return [(names[label], score) for label, score in pairs if label >= 0]


def rank_with_words(replica: Replica, text: str, k: int) -> list[Reasoned]:
    """Rank the labels of a text, each with what its score is the sum of; one state for all of them."""
    with replica.reading():
        found = replica._rank_many([text], k)[0]
        reasons = replica._explain_many(text, [entry.label for entry in found])
        return [Reasoned(entry, reason.words, reason.prior) for entry, reason in zip(found, reasons, strict=True)]


def cut(replica: Replica, texts: Sequence[str]) -> list[list[BandedEntry]]:
    """Rank the labels of texts and cut them into bands; a merged label has the band of its best part."""
    with replica.reading():
        labels, found = replica.labels, []
        for entries in replica.tagger.cut_many(texts):
            kept: dict[Name, BandedEntry] = {}
            for entry in entries:
                label = labels.resolve(entry.label)
                if label not in labels.retired and label not in kept:
                    kept[label] = entry._replace(label=label, rank=len(kept) + 1)
            found.append(list(kept.values()))
        return found


def rank_features(replica: Replica, features: Mapping[str, float], k: int) -> list[Entry]:
    """Rank the labels of a row that is given as terms and their weights; unknown terms have no say."""
    with replica.reading():
        return rank_rows(replica.tagger, replica.labels, _rows(replica.tagger, features), k)[0]


def _rows(tagger: Tagger, features: Mapping[str, float]) -> Rows:
    encoder, weights = tagger.encoder, dict[int, float]()
    for name, value in features.items():
        spans = [span for span in encoder.spans(name) if span.start == 0 and span.stop == len(name)]
        if spans and value:
            weights[spans[-1].term] = weights.get(spans[-1].term, 0.0) + value
    terms = sorted(weights)
    data = np.array([weights[term] for term in terms], np.float64)
    return Rows(np.array([0, len(terms)], np.int64), np.array(terms, np.int32), data)
