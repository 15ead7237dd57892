"""The pictures: how good a model is, where it fails, and why; each draws in given axes or in a new figure.

matplotlib, which the extra `plot` brings, is imported when the first picture is drawn.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abound.plots.colouring import ColouredText, coloured_text
    from abound.plots.confusions import Confusion, confused_pairs, find_confusions
    from abound.plots.explained import explanations
    from abound.plots.frequency import label_frequency
    from abound.plots.memory import accuracy_by_memory
    from abound.plots.progressive import learning_curve, rank_then_learn
    from abound.plots.ranks import precision_at_k
    from abound.plots.style import background
    from abound.plots.thresholds import precision_recall
    from abound.plots.tried import tried_settings

_LAZY = {
    "ColouredText": "colouring",
    "Confusion": "confusions",
    "accuracy_by_memory": "memory",
    "background": "style",
    "coloured_text": "colouring",
    "confused_pairs": "confusions",
    "explanations": "explained",
    "find_confusions": "confusions",
    "label_frequency": "frequency",
    "learning_curve": "progressive",
    "precision_at_k": "ranks",
    "precision_recall": "thresholds",
    "rank_then_learn": "progressive",
    "tried_settings": "tried",
}

__all__ = [
    "ColouredText",
    "Confusion",
    "accuracy_by_memory",
    "background",
    "coloured_text",
    "confused_pairs",
    "explanations",
    "find_confusions",
    "label_frequency",
    "learning_curve",
    "precision_at_k",
    "precision_recall",
    "rank_then_learn",
    "tried_settings",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'abound.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(f"abound.plots.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
