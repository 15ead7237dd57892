"""A small model of every kind, and what can be done with one that was loaded."""

import functools
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import abound
from abound import loading
from abound.errors import AboundError
from abound.rankers import Ranker
from abound.server.replica import Replica
from abound.store.journal.records import BandFeedback, MergeLabels, RenameLabel, RetireLabel
from tests.rankers.streams import stream

TEXTS = ["a red apple and a green pear", "the fast red car", "an electric car, and a naïve driver", "green pears"]
LABELS = [["fruit"], ["vehicle", "sport"], ["vehicle"], ["fruit", "green things"]]
NAMES = {"fruit": ["Fruit", "Früchte"], "vehicle": ["Vehicles"]}


def _rated(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 5))
    return X, np.digitize(X @ [1.0, 2.0, 0.0, 1.0, 0.5], [1.5, 2.2, 3.0])


def _queries():
    rng = np.random.default_rng(1)
    X = rng.random((60, 4))
    return X, (X[:, 0] + X[:, 1] > 1.1).astype(int), np.repeat(np.arange(6), 10)


def _tagger(**params):
    tagger = abound.Tagger(**params).fit(TEXTS * 8, LABELS * 8, label_names=NAMES)
    for text, labels in zip(TEXTS * 15, LABELS * 15, strict=True):
        tagger.feedback(text, labels)
    return tagger


def _replica():
    replica = Replica(_tagger(), journal="0123456789abcdef")
    records = [RenameLabel("sport", "sports"), MergeLabels("green things", "fruit"), RetireLabel("sports")]
    for sequence, record in enumerate([*records, BandFeedback("fruit", 1.0, "suggest", "apply")], 1):
        replica.apply(sequence, record)
    return replica


MAKERS = {
    "feature-focus": lambda: abound.FeatureFocus().fit(*stream(60)),
    "feature-focus-rated": lambda: abound.FeatureFocus(rating="learned").fit(*stream(60)),
    "cascade-few": lambda: abound.Cascade().fit(*stream(60)),
    "cascade-many": lambda: abound.Cascade(few_labels=0).fit(*stream(60)),
    "mmp": lambda: abound.MMP().fit(*stream(60)),
    "perceptron": lambda: abound.Perceptron(candidates="touched").fit(*stream(60)),
    "rocchio": lambda: abound.Rocchio().fit(*stream(60)),
    "independent": lambda: abound.Independent().fit(*stream(60)),
    "frequency": lambda: abound.Frequency().fit(*stream(60)),
    "prank": lambda: abound.PRank().fit(*_rated()),
    "prank-rbf": lambda: abound.PRank(kernel="rbf").fit(*_rated()),
    "widrow-hoff": lambda: abound.WidrowHoff().fit(*_rated()),
    "multiclass-perceptron": lambda: abound.MulticlassPerceptron().fit(*_rated()),
    "svm-map": lambda: abound.SVMMap(tol=0.1).fit(*_queries()),
    "reranker": lambda: abound.Reranker(tol=0.1, n_thresholds=4).fit(*_queries()),
    "tagger": _tagger,
    "tagger-pivoted": lambda: _tagger(ranker="mmp", weighting="pivoted", min_count=2, char_ngrams=(3, 4)),
    "snapshot": _replica,
}


@functools.cache
def saved(kind):
    """Return a directory with a model of a kind, which must not be changed."""
    path = Path(tempfile.mkdtemp(prefix="abound-zoo-")) / kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MAKERS[kind]().save(path)
    return path


def load(path, **options):
    """Load the model of a directory; a snapshot is loaded as a server does."""
    if path.name == "snapshot":
        return Replica.load(path)
    return abound.load(path, **options)


def build(kind, model):
    """Build the object of a model."""
    return Replica.from_model(model) if kind == "snapshot" else loading.build(model)


def use(model):
    """Use a model in the usual ways; only errors with a message may result."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in _steps(model):
            try:
                step()
            except (AboundError, ValueError):  # a sentence about numbers that are too large
                continue


def _steps(model):
    if isinstance(model, Ranker):
        X, Y = stream(12, n_features=75, seed=7)
        yield lambda: model.rank(X, 5)
        yield lambda: model.rank(X, 100)
        yield lambda: model.predict(sp.csr_array(X))
        if len(model.labels_):
            yield lambda: model.explain(X[[0]], model.labels_.names[-1])
        yield lambda: model.partial_fit(X, Y)
        yield lambda: model.rank(X, 5)
        yield model.state_hash
    elif isinstance(model, abound.Tagger | Replica):
        tagger = model if isinstance(model, abound.Tagger) else model.tagger
        yield lambda: model.rank("A red pear, and the fast car", 3)
        yield lambda: model.rank_many([*TEXTS, "", "naïve driver\0"], 50)
        for name in tagger.ranker.labels_.names[:2]:
            yield lambda name=name: model.explain(TEXTS[1], name)
        yield lambda: tagger.rank_with_bands(TEXTS[0])
        yield lambda: tagger.feedback(TEXTS[2], ["vehicle"])
        yield lambda: tagger.learn("a new pear", ["fruit", "new"])
        yield lambda: [tagger.encoder.name(term) for term in range(tagger.n_features)]
        yield lambda: tagger.name_of("fruit")
        yield model.state_hash
        yield lambda: tagger.prune(1)
        yield lambda: tagger.rank(TEXTS[3])
    elif isinstance(model, abound.SVMMap | abound.Reranker):
        X = np.random.default_rng(3).random((9, max(1, model.n_features_in_)))
        yield lambda: model.decision_function(X)
        yield lambda: model.rank(X, np.arange(9) // 3)
    else:
        X, y = _rated(5)
        yield lambda: model.predict(X)
        yield lambda: model.predict(np.random.default_rng(3).random((5, model.n_features_in_)))
        yield lambda: model.partial_fit(X, y)
        yield lambda: model.predict(X)
        yield model.state_hash
