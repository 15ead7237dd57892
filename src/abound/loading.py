"""Load any model directory."""

import importlib
import os
from typing import TYPE_CHECKING, Any

from abound.errors import UnknownFormat
from abound.ordinal import KINDS as ORDINAL_KINDS
from abound.ordinal import ordinal_class
from abound.rankers import Ranker, known_kinds
from abound.store import Model, is_home, read_model
from abound.tagger import Tagger

if TYPE_CHECKING:
    from abound.ordinal.base import OrdinalEstimator
    from abound.retrieval import Reranker, SVMMap

EDITS = "served_alias_names"  # an array of models whose labels may have been edited
# Rankers of documents import scikit-learn, so they are imported only if a model needs them.
_RETRIEVAL = {"reranker": ("reranker", "Reranker"), "svm-map": ("svm_map", "SVMMap")}


def load(
    path: str | os.PathLike[str], *, verify: bool = True, **params: Any
) -> "Ranker | Tagger | OrdinalEstimator | SVMMap | Reranker":
    """Load a ranker, a tagger, an ordinal learner or a document ranker from a model directory.

    Parameters
    ----------
    path : path
        A directory that `save` wrote, or the home of a served model, whose newest state is loaded.
    verify : bool
        Whether to compare every file with its checksum.
    **params
        Parameters of the ranker that replace the saved ones; a smaller `d_max` loads a smaller index.

    Returns
    -------
    The estimator, or the Tagger, that was saved
    """
    if is_home(path):
        return _load_home(path, **params)
    return build(read_model(path, verify=verify), **params)


def load_tagger(path: str | os.PathLike[str]) -> Tagger:
    """Load the tagger of a model directory or of the home of a served model; UnknownFormat for other models."""
    if is_home(path):
        return _load_home(path)
    model = read_model(path)
    return _load_edited(model) if _is_edited(model) else Tagger.of_model(path, model)


def _load_home(path: str | os.PathLike[str], **params: Any) -> Tagger:
    from abound.server import Home
    from abound.server.served import open_state

    if params:
        raise ValueError(f"parameters cannot be replaced in the home of a served model, got {', '.join(params)}")
    return open_state(Home(path))


def _is_edited(model: Model) -> bool:
    """Return whether labels of a tagger were renamed, merged or retired while it was served."""
    return model.content.get("kind") == Tagger.kind and EDITS in model.arrays


def _load_edited(model: Model, **params: Any) -> Tagger:
    from abound.server.served import build_edited

    return build_edited(model, **params)


def build(model: Model, **params: Any) -> "Ranker | Tagger | OrdinalEstimator | SVMMap | Reranker":
    """Build the object of a loaded model directory."""
    kind = model.content.get("kind")
    if _is_edited(model):
        return _load_edited(model, **params)
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
