"""Load any model directory."""

import importlib
import os
from typing import TYPE_CHECKING, Any

from abound.errors import UnknownFormat
from abound.ordinal import KINDS as ORDINAL_KINDS
from abound.ordinal import ordinal_class
from abound.rankers import Ranker, known_kinds
from abound.store import Model, read_model
from abound.tagger import Tagger

if TYPE_CHECKING:
    from abound.ordinal.base import OrdinalEstimator
    from abound.retrieval import Reranker, SVMMap

# Rankers of documents import scikit-learn, so they are imported only if a model needs them.
_RETRIEVAL = {"reranker": ("reranker", "Reranker"), "svm-map": ("svm_map", "SVMMap")}


def load(
    path: str | os.PathLike[str], *, verify: bool = True, **params: Any
) -> "Ranker | Tagger | OrdinalEstimator | SVMMap | Reranker":
    """Load a ranker, a tagger, an ordinal learner or a document ranker from a model directory.

    Parameters
    ----------
    path : path
        A directory that `save` wrote.
    verify : bool
        Whether to compare every file with its checksum.
    **params
        Parameters of the ranker that replace the saved ones; a smaller `d_max` loads a smaller index.

    Returns
    -------
    The estimator, or the Tagger, that was saved
    """
    return build(read_model(path, verify=verify), **params)


def build(model: Model, **params: Any) -> "Ranker | Tagger | OrdinalEstimator | SVMMap | Reranker":
    """Build the object of a loaded model directory."""
    kind = model.content.get("kind")
    if kind == Tagger.kind:
        return Tagger.from_model(model, **params)
    if kind in _RETRIEVAL:
        module, name = _RETRIEVAL[kind]
        estimator: SVMMap | Reranker
        estimator = getattr(importlib.import_module(f"abound.retrieval.{module}"), name).from_model(model, **params)
        return estimator
    if kind in ORDINAL_KINDS:
        return ordinal_class(kind).from_model(model, **params)
    if kind not in known_kinds():
        raise UnknownFormat(f"the model holds a {kind!r}, which this version of abound does not know")
    from abound.estimators import estimator_class  # imports scikit-learn

    return estimator_class(str(kind)).from_model(model, **params)
