"""Export a learned ranking to search engines."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from abound.retrieval.design import Floats
from abound.retrieval.reranker import Reranker
from abound.retrieval.svm_map import SVMMap
from abound.retrieval.thermometer import ThermometerFeatures

ENGINES = ("solr", "elasticsearch", "vespa")


class _Parts(NamedTuple):
    """The terms of a model's score: weights of columns, or of their thermometer bits."""

    names: list[str]
    weights: Floats
    intercept: float
    thresholds: list[NDArray[np.float64]] | None
    sign: float


def export_ranking(
    model: Any, engine: str, *, name: str = "abound", feature_names: Sequence[str] | None = None
) -> dict[str, Any] | str:
    """Return the definition with which a search engine computes the scores of a learned ranking.

    Parameters
    ----------
    model : SVMMap, Reranker, or Pipeline of a ThermometerFeatures and an SVMMap
        A fitted model that scores each document independently, that is, without `per_query`.
    engine : {"solr", "elasticsearch", "vespa"}
        For Solr, the JSON of an ``org.apache.solr.ltr.model.LinearModel``; for Elasticsearch's learning-to-rank
        plugin, the body of ``_createmodel`` with a ``model/linear``; for Vespa, a ranking expression.
    name : str
        The model's name in the engine.
    feature_names : sequence of str, optional
        The engine's names of the columns; for Vespa, any expression such as ``bm25(title)``.

    Returns
    -------
    dict to send as JSON, or str for Vespa

    Notes
    -----
    A linear model of Solr or Elasticsearch has no thresholds: each thermometer bit is a separate feature, which must be
    defined under its name in the export, such as ``bm25>12.5``. Vespa compares with the thresholds itself. The exports
    for Solr and Elasticsearch have no intercept. Only loss="accuracy" has one, and it does not change the order.

    Examples
    --------
    >>> ranker = SVMMap().fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    >>> export_ranking(ranker, "vespa", feature_names=["bm25(title)", "age"])  # doctest: +ELLIPSIS
    '0.2... * bm25(title)'
    """
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {engine!r}")
    parts = _take_apart(model, feature_names)
    if engine == "vespa":
        return _vespa(parts)
    weights = _named_weights(parts)
    if engine == "solr":
        return {
            "class": "org.apache.solr.ltr.model.LinearModel",
            "name": name,
            "features": [{"name": feature} for feature in weights],
            "params": {"weights": weights},
        }
    # The plugin expects the definition as a string of JSON.
    return {"model": {"name": name, "model": {"type": "model/linear", "definition": json.dumps(weights)}}}


def _take_apart(model: Any, feature_names: Sequence[str] | None) -> _Parts:
    ranker, thermometer, sign = model, None, 1.0
    if isinstance(model, Reranker):
        check_is_fitted(model, "ranker_")
        if model.per_query is not None:
            raise ValueError("a search engine scores one document at a time, so per_query must be None")
        ranker, thermometer, sign = model.ranker_, model.thermometer_, -1.0 if model.lower_is_better else 1.0
    elif isinstance(model, Pipeline):
        steps = [step for _, step in model.steps]
        thermometer, ranker = steps if len(steps) == 2 else (None, None)
        if not isinstance(thermometer, ThermometerFeatures):
            raise ValueError("a pipeline must be a ThermometerFeatures and an SVMMap to be exported")
    if not isinstance(ranker, SVMMap):
        raise TypeError(f"model must be an SVMMap, a Reranker or a Pipeline, got {type(model).__name__}")
    check_is_fitted(ranker)
    n_columns = ranker.n_features_in_ if thermometer is None else thermometer.n_features_in_
    if feature_names is None:
        known = getattr(ranker if thermometer is None else thermometer, "feature_names_in_", None)
        feature_names = [f"x{i}" for i in range(n_columns)] if known is None else [str(name) for name in known]
    if len(feature_names) != n_columns or len(set(feature_names)) != n_columns:
        raise ValueError(f"feature_names must be {n_columns} different names, got {len(set(feature_names))}")
    thresholds = None if thermometer is None else thermometer.thresholds_
    return _Parts(list(feature_names), ranker.coef_, ranker.intercept_, thresholds, sign)


def _named_weights(parts: _Parts) -> dict[str, float]:
    if parts.thresholds is None:
        return dict(zip(parts.names, (parts.sign * parts.weights).tolist(), strict=True))
    pairs = [(name, t) for name, column in zip(parts.names, parts.thresholds, strict=True) for t in column.tolist()]
    # A bit of the negated value, -x > t, is x < -t.
    names = [f"{name}>{_number(t)}" if parts.sign > 0 else f"{name}<{_number(-t)}" for name, t in pairs]
    return dict(zip(names, parts.weights.tolist(), strict=True))


def _number(value: float) -> str:
    return f"{value:.17g}"


def _vespa(parts: _Parts) -> str:
    terms = []
    if parts.thresholds is None:
        weights = (parts.sign * parts.weights).tolist()
        terms = [f"{_number(w)} * {name}" for name, w in zip(parts.names, weights, strict=True) if w]
    else:
        start = 0
        for name, column in zip(parts.names, parts.thresholds, strict=True):
            steps = np.concatenate([[0.0], np.cumsum(parts.weights[start : start + len(column)])])
            start += len(column)
            if steps.any():
                terms.append(_choices(name, parts.sign, column.tolist(), steps.tolist()))
    if parts.intercept:
        terms.append(_number(parts.intercept))
    return " + ".join(terms).replace("+ -", "- ") or "0"


def _choices(name: str, sign: float, thresholds: list[float], steps: list[float]) -> str:
    """Return nested conditions that find a value's step in a logarithmic number of comparisons."""
    if not thresholds:
        return _number(steps[0])
    middle = len(thresholds) // 2
    t = thresholds[middle]
    condition = f"{name} > {_number(t)}" if sign > 0 else f"{name} < {_number(-t)}"
    above = _choices(name, sign, thresholds[middle + 1 :], steps[middle + 1 :])
    below = _choices(name, sign, thresholds[:middle], steps[: middle + 1])
    return f"if ({condition}, {above}, {below})"
