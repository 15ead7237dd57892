"""Fuzz the public calls of every estimator and of the tagger with invalid arguments.

The bytes of an input choose an object, its parameters, the calls and their arguments. A call must succeed or raise
ValueError, TypeError or an error of abound; afterwards the state of the object must still be hashable.
"""

import shutil
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import abound
from abound import metrics
from abound.errors import AboundError
from tests.fuzz import values
from tests.fuzz.chooser import Chooser
from tests.fuzz.values import choose

REFUSALS = (ValueError, TypeError, AboundError)
PLACE = Path(tempfile.mkdtemp(prefix="abound-api-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))  # noqa: S108
MOST_CALLS = 30
calls: Counter[str] = Counter()


class Session:
    """An object and the calls on it; a refused call returns None."""

    def __init__(self, data):
        self.ch = Chooser(data)

    def call(self, name, function, *args, **kwargs):
        """Make one call and count it."""
        calls[name] += 1
        try:
            return function(*args, **kwargs)
        except REFUSALS:
            return None

    def params(self, options):
        """Return some parameters, most of them valid."""
        found = {}
        for name, known in options.items():
            if self.ch.integers(4) == 0:
                found[name] = (
                    choose(self.ch, known) if self.ch.integers(4) else choose(self.ch, values.ODD + values.NUMBERS)
                )
        return found

    def made(self, kind, options):
        """Return an object with chosen parameters, or None."""
        return self.call(kind.__name__, kind, **self.params(options))


# Slow work finds no defects: parameters that determine the amount of work get small numbers only.
PASSES = {"passes": (1, 2)}
RANKERS = {
    abound.Cascade: {
        "w_min": (0.0, 0.1, 1.0),
        "d_max": (None, 1, 3),
        "candidates": (None, 0, 2),
        "few_labels": (0, 2, 1000),
    },
    abound.FeatureFocus: {
        "w_min": (0.0, 0.1, 1.0),
        "d_max": (None, 1, 3),
        "margin": (0.0, 0.5),
        "rating": (None, "learned"),
    },
    abound.Frequency: {},
    abound.Independent: {"p_ind": (0.0, 0.1, None), "d_max": (None, 2)},
    abound.MMP: {"candidates": ("all", "touched"), "averaged": (False, True), "margin": (0.0, 0.5)},
    abound.Perceptron: {"candidates": ("all", "touched"), "averaged": (False, True)},
    abound.Rocchio: {"positive": (1.0, 16.0), "negative": (0.0, 4.0)},
}
ORDINAL = {
    abound.PRank: {
        "kernel": ("linear", "rbf", "poly"),
        "budget": (None, 2),
        "average": (False, True),
        "voting": (False, True),
        "ranks": (None, [0, 1, 2, 3]),
    },
    abound.WidrowHoff: {"rate": (0.0, 0.1), "intercept": (True, False), "ranks": (None, [0, 1, 2, 3])},
    abound.MulticlassPerceptron: {"ranks": (None, [0, 1, 2, 3])},
}
TAGGERS = {"ranker": ("cascade", "feature-focus", "mmp", "independent", "frequency", "rocchio", "perceptron")}
TEXT = {
    "ngrams": (1, 2),
    "char_ngrams": (None, (1, 2)),
    "min_count": (1, 2),
    "weighting": ("log", "pivoted"),
    "max_terms": (None, 5),
}


def _known(options, kind):
    import inspect

    found = inspect.signature(kind).parameters
    return {name: options[name] for name in options if name in found}


def _kept(session, model):
    """Save a model and load it: the states must be equal."""
    path = PLACE / "model"
    shutil.rmtree(path, ignore_errors=True)
    session.call("save", model.save, path)
    if not (path / "manifest.json").exists():
        return
    calls["load"] += 1
    again = abound.load(path)  # a saved model must not be refused
    assert again.state_hash() == model.state_hash()


def ranker(session):
    """Train one ranker, rank and explain."""
    ch = session.ch
    kind = choose(ch, list(RANKERS))
    model = session.made(kind, _known(RANKERS[kind], kind))
    if model is None:
        return
    good = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.2, 0.0, 0.0]])
    if ch.integers(4):
        session.call("fit", model.fit, good, [["a"], ["b", "c"], ["a"]])
    for _ in range(1 + ch.integers(MOST_CALLS)):
        how = ch.integers(16)
        X = values.matrix(ch)
        n_rows = _length(X)
        if how < 4:
            session.call("rank", model.rank, X, values.whole(ch))
            session.call("explain", model.explain, X, values.name(ch))
        elif how < 7:
            more = {}
            if ch.integers(4) == 0:
                more["classes"] = values.names(ch)
            if ch.integers(4) == 0:
                more["wrong"] = [values.names(ch) for _ in range(n_rows)]
            session.call("partial_fit", model.partial_fit, X, values.labels(ch, n_rows), **more)
        elif how == 7:
            session.call("fit", model.fit, X, values.labels(ch, n_rows))
        elif how < 11:
            session.call("explain", model.explain, X, values.name(ch))
        elif how == 11:
            session.call("predict", model.predict, X)
        elif how == 12:
            session.call("score", model.score, X, values.labels(ch, n_rows))
        elif how == 13:
            truth = session.call("truth", model.truth, values.labels(ch, n_rows))
            ranking = session.call("rank", model.rank, good, 2)
            names = ["P@1", "nDCG@3", "MRR"]
            session.call("evaluate", metrics.evaluate, truth if ch.integers(2) else X, ranking, names)
        elif how == 14:
            other = session.made(kind, _known(RANKERS[kind], kind))
            if other is not None:
                session.call("partial_fit", other.partial_fit, good, values.labels(ch, 3))
            session.call("merge", abound.merge, model, model if ch.integers(4) == 0 else other)
        elif ch.integers(4) == 0:
            _kept(session, model)
    session.call("state_hash", model.state_hash)


def _length(X):
    try:
        return int(X.shape[0]) if hasattr(X, "shape") and len(X.shape) and X.shape[0] < 100 else min(len(X), 100)
    except TypeError:
        return 1


def ordinal(session):
    """Train an ordinal learner and predict."""
    ch = session.ch
    kind = choose(ch, list(ORDINAL))
    model = session.made(kind, ORDINAL[kind])
    if model is None:
        return
    if ch.integers(4):
        session.call("fit", model.fit, np.eye(3), [0, 1, 3])
    for _ in range(1 + ch.integers(MOST_CALLS)):
        how = ch.integers(8)
        X = values.matrix(ch)
        n_rows = _length(X)
        if how < 2:
            session.call(
                "partial_fit",
                model.partial_fit,
                X,
                values.ranks(ch, n_rows),
                values.names(ch) if ch.integers(4) == 0 else None,
            )
        elif how == 2:
            session.call("fit", model.fit, X, values.ranks(ch, n_rows))
        elif how == 3:
            session.call("predict_learn", model.predict_learn, X, values.ranks(ch, n_rows))
        elif how < 6:
            session.call("predict", model.predict, X)
        elif how == 6 and hasattr(model, "decision_function"):
            session.call("decision_function", model.decision_function, X)
        else:
            _kept(session, model)
    session.call("state_hash", model.state_hash)


def retrieval(session):
    """Prepare and rank documents of queries; select and weight columns."""
    ch = session.ch
    X = values.matrix(ch)
    n_rows = _length(X)
    how = ch.integers(8)
    if how < 3:
        options = {
            "C": (0.1, 1.0),
            "loss": ("map", "roc", "accuracy"),
            "class_weight": (None, "balanced"),
            "relevant_from": (1.0, 2),
        }
        model = session.made(abound.SVMMap, options)
        model = None if model is None else session.call("set_params", model.set_params, tol=0.1, max_rounds=20)
    elif how == 3:
        options = {"per_query": (None, "minmax"), "n_thresholds": (0, 3), "lower_is_better": (False, True)}
        model = session.made(abound.Reranker, options)
        model = None if model is None else session.call("set_params", model.set_params, tol=0.1)
    elif how == 4:
        model = session.made(
            abound.ThermometerFeatures,
            {"n_thresholds": (1, 3), "strategy": ("quantile", "uniform"), "output": ("sparse", "table")},
        )
    elif how == 5:
        model = session.made(abound.QueryScaler, {"method": ("minmax", "percentile", "standard")})
    elif how == 6:
        model = session.made(abound.PivotedWeights, {"slope": (0.0, 0.3, 1.0)})
    else:
        model = session.made(abound.RocchioSelector, {"least": (0, 1), "share": (0.0, 0.5)})
    if model is None:
        return
    given = {"qid": values.ranks(ch, n_rows)} if ch.integers(2) and how < 4 else {}
    session.call("fit", model.fit, X, values.ranks(ch, n_rows), **given)
    if ch.integers(2):
        good = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.2, 0.0, 0.0]])
        session.call("fit", model.fit, good, [0, 1, 2])
    for _ in range(1 + ch.integers(3)):
        X = values.matrix(ch)
        more = {"qid": values.ranks(ch, _length(X))} if ch.integers(2) else {}
        if how < 4:
            which = choose(ch, ("rank", "predict", "score"))
            args = (X, values.ranks(ch, _length(X))) if which == "score" else (X,)
            session.call(which, getattr(model, which), *args, **(more if which != "predict" else {}))
        elif how == 5:
            session.call("transform", model.transform, X, **more)
        else:
            session.call("transform", model.transform, X)


def bands(session):
    """Divide rankings into bands and give feedback."""
    ch = session.ch
    model = session.made(abound.Bands, {"apply": (0.5, 0.9), "suggest": (0.0, 0.3), "groups": (None, {0: 0, 2: 1})})
    if model is None:
        return
    for _ in range(1 + ch.integers(MOST_CALLS)):
        shape = choose(ch, ((2,), (1, 2), (3, 2), (0, 2), (2, 0)))
        rng = np.random.default_rng(ch.integers(256))
        found, scores, right = rng.integers(-1, 4, shape), -np.sort(-rng.random(shape)), rng.random(shape) < 0.5
        given = [found, scores, right]
        if ch.integers(2):
            given[ch.integers(3)] = values.matrix(ch) if ch.integers(2) else values._spoil_array(ch, choose(ch, given))
        how = ch.integers(4)
        if how == 0:
            session.call("cut", model.cut, given[0], given[1])
        elif how == 1:
            session.call("probabilities", model.probabilities, given[0], given[1])
        elif how == 2:
            session.call(
                "set_groups",
                model.set_groups,
                choose(ch, ({}, {1: 0}, {"a": 1}, {-1: 0}, {0: -1}, {0: 1.5}, None, [1])),
            )
        else:
            session.call("learn", model.learn, *given)


def tagger(session):
    """Train a tagger, rank, explain, correct, prune, save and merge."""
    ch = session.ch
    model = session.made(abound.Tagger, {**TAGGERS, **TEXT, "name_weight": (0.0, 2.0)})
    if model is None:
        return
    if ch.integers(4):
        session.call("fit", model.fit, ["a red apple", "the fast car", "red"], [["a"], ["b", "c"], []])
    for _ in range(1 + ch.integers(MOST_CALLS)):
        how = ch.integers(20)
        text = values.text(ch)
        if how < 4:
            session.call("rank", model.rank, text, values.whole(ch))
            session.call("explain", model.explain, text, values.name(ch))
        elif how < 6:
            session.call("rank_many", model.rank_many, values.texts(ch), values.whole(ch))
        elif how < 9:
            more = {"wrong": values.names(ch)} if ch.integers(3) == 0 else {}
            session.call("learn", model.learn, text, values.names(ch), insist=bool(ch.integers(4) == 0), **more)
        elif how < 11:
            given = values.texts(ch)
            session.call("learn_many", model.learn_many, given, values.labels(ch, _length(given)))
        elif how == 11:
            given = choose(
                ch, ({}, {"a": "red"}, {"a": ["x", "y"]}, {1: text}, {None: "x"}, {"a": 3}, [("a", "b")], None)
            )
            session.call("learn_names", model.learn_names, given)
        elif how < 14:
            session.call("explain", model.explain, text, values.name(ch))
        elif how == 14:
            session.call(
                "feedback", model.feedback, text, values.names(ch), values.names(ch) if ch.integers(2) else None
            )
        elif how == 15:
            session.call("rank_with_bands", model.rank_with_bands, text)
        elif how == 16:
            session.call("prune", model.prune, choose(ch, (0, 1, 1000, 10**9, -1, None, 2.5, "x", 2**70)))
        elif how == 17:
            given = values.texts(ch)
            session.call("fit", model.fit, given, values.labels(ch, _length(given)))
        elif how == 18:
            other = session.call("Tagger", abound.Tagger, model.ranker.kind) if ch.integers(2) else model
            if other is not None and other is not model:
                session.call("learn", other.learn, text, values.names(ch))
            session.call("merge", abound.merge, model, other)
        elif ch.integers(4) == 0:
            _kept(session, model)
    session.call("state_hash", model.state_hash)


KINDS = (ranker, ranker, ranker, tagger, tagger, ordinal, retrieval, bands)


def api(data):
    """Make the public calls on one object that the bytes choose."""
    session = Session(data)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        choose(session.ch, KINDS)(session)
