"""Rows in, ranked labels out."""

import os
from typing import Any

from abound.errors import UnknownFormat
from abound.rankers.base import Ranker
from abound.rankers.feature_focus import FeatureFocus
from abound.rankers.frequency import Frequency
from abound.rankers.independent import Independent
from abound.rankers.ranking import Explanation, Ranking
from abound.store import read_model

RANKERS: dict[str, type[Ranker]] = {ranker.kind: ranker for ranker in (FeatureFocus, Frequency, Independent)}

__all__ = ["RANKERS", "Explanation", "FeatureFocus", "Frequency", "Independent", "Ranker", "Ranking", "load"]


def load(path: str | os.PathLike[str], *, verify: bool = True, **params: Any) -> Ranker:
    """Load a ranker from a model directory.

    Parameters
    ----------
    path : path
        A directory that `Ranker.save` wrote.
    verify : bool
        Compare every file with its checksum.
    **params
        Parameters to use instead of the saved ones; a smaller `d_max` loads a smaller index.

    Returns
    -------
    Ranker
    """
    model = read_model(path, verify=verify)
    kind = model.content.get("kind")
    if not isinstance(kind, str) or kind not in RANKERS:
        raise UnknownFormat(f"{path} holds a {kind!r}, which this version of abound does not know")
    return RANKERS[kind].from_model(model, **params)
