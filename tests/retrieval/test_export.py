"""What search engines are given scores documents as the model does."""

import json
import operator
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from abound import QueryScaler, Reranker, SVMMap, ThermometerFeatures, export_ranking
from tests.retrieval.ranked import documents

COMPARE = {">": operator.gt, "<": operator.lt}


def linear_scores(weights, X, names):
    """Score rows as a linear model of named features does; 'a>1' and 'a<1' are bits that the engine defines."""

    def value(name):
        bit = re.fullmatch(r"(\w+)([<>])(.+)", name)
        if not bit:
            return X[:, names.index(name)]
        return COMPARE[bit[2]](X[:, names.index(bit[1])], float(bit[3])).astype(float)

    return sum(weight * value(name) for name, weight in weights.items())


def vespa_scores(expression, X, names):
    """Evaluate a ranking expression: numbers, names, sums, products, comparisons and if (condition, yes, no)."""
    expression = re.sub(r"\bif \(", "choose(", expression)
    for number, name in enumerate(names):
        expression = expression.replace(name, f"column[{number}]")
    code = compile(expression, "vespa", "eval")
    choose = lambda condition, yes, no: yes if condition else no  # noqa: E731
    return np.array([eval(code, {"column": row, "choose": choose}) for row in X])  # noqa: S307


def models():
    X, y, qid = documents(n_queries=30)
    bits = make_pipeline(ThermometerFeatures(9), SVMMap()).fit(X, y, svmmap__qid=qid)
    yield "linear", SVMMap().fit(X, y, qid), X
    yield "bits in a pipeline", bits, X
    holes = X.copy()
    holes[::5, 1] = np.nan
    yield "bits", Reranker(n_thresholds=50).fit(holes, y, qid), holes
    yield "ranks", Reranker(n_thresholds=7, lower_is_better=True).fit(holes, y, qid), holes
    yield "negated", Reranker(n_thresholds=0, lower_is_better=True).fit(X, y, qid), X


NAMES = ["bm25", "pagerank", "title", "age"]
MODELS = [pytest.param(model, X, id=name) for name, model, X in models()]


@pytest.mark.parametrize(("model", "X"), MODELS)
def test_solrs_linear_model_gives_the_scores(model, X):
    exported = json.loads(json.dumps(export_ranking(model, "solr", name="m", feature_names=NAMES)))
    assert exported["class"] == "org.apache.solr.ltr.model.LinearModel"
    assert exported["name"] == "m"
    weights = exported["params"]["weights"]
    assert [feature["name"] for feature in exported["features"]] == list(weights)
    assert linear_scores(weights, X, NAMES) == pytest.approx(model.decision_function(X), abs=1e-9)
    # Solr keeps weights in single precision.
    single = {name: float(np.float32(weight)) for name, weight in weights.items()}
    assert linear_scores(single, X, NAMES) == pytest.approx(model.decision_function(X), abs=1e-5)


@pytest.mark.parametrize(("model", "X"), MODELS)
def test_elasticsearchs_linear_model_gives_the_scores(model, X):
    exported = json.loads(json.dumps(export_ranking(model, "elasticsearch", feature_names=NAMES)))
    assert exported["model"]["name"] == "abound"
    assert exported["model"]["model"]["type"] == "model/linear"
    weights = json.loads(exported["model"]["model"]["definition"])
    assert linear_scores(weights, X, NAMES) == pytest.approx(model.decision_function(X), abs=1e-9)


@pytest.mark.parametrize(("model", "X"), MODELS)
def test_vespas_expression_gives_the_scores(model, X):
    names = ["bm25(title)", "attribute(rank)", "fieldMatch(body)", "freshness(time)"]
    expression = export_ranking(model, "vespa", feature_names=names)
    assert vespa_scores(expression, X, names) == pytest.approx(model.decision_function(X), abs=1e-9)


def test_an_intercept_goes_where_it_can():
    X, y, _ = documents()
    model = SVMMap(loss="accuracy").fit(X, y)
    assert vespa_scores(export_ranking(model, "vespa", feature_names=NAMES), X, NAMES) == pytest.approx(
        model.decision_function(X), abs=1e-9
    )
    weights = export_ranking(model, "solr", feature_names=NAMES)["params"]["weights"]
    assert linear_scores(weights, X, NAMES) + model.intercept_ == pytest.approx(model.decision_function(X), abs=1e-9)


def test_names_come_from_a_frame():
    X, y, qid = documents()
    frame = pd.DataFrame(X, columns=NAMES)
    assert list(export_ranking(SVMMap().fit(frame, y, qid), "solr")["params"]["weights"]) == NAMES
    assert export_ranking(SVMMap().fit([[0.0], [0.0]], [0, 1]), "vespa") == "0"


def test_what_cannot_be_exported_is_told():
    X, y, qid = documents()
    ranker = SVMMap().fit(X, y, qid)
    with pytest.raises(ValueError, match="engine must be one of 'solr', 'elasticsearch', 'vespa', got 'lucene'"):
        export_ranking(ranker, "lucene")
    with pytest.raises(ValueError, match="feature_names must be 4 different names, got 1"):
        export_ranking(ranker, "solr", feature_names=["a"] * 4)
    with pytest.raises(ValueError, match="one document at a time, so per_query must be None"):
        export_ranking(Reranker(per_query="minmax").fit(X, y, qid), "solr")
    with pytest.raises(ValueError, match="a pipeline must be a ThermometerFeatures and an SVMMap"):
        export_ranking(make_pipeline(QueryScaler(), SVMMap()).fit(X, y), "solr")
    with pytest.raises(TypeError, match="must be an SVMMap, a Reranker or a Pipeline, got QueryScaler"):
        export_ranking(QueryScaler(), "solr")
