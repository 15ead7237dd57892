"""Plots of the quality of a model, its errors and their reasons, in given axes or in a new figure.

matplotlib, which the extra `plot` installs, is imported with the first plot.
"""

from typing import TYPE_CHECKING

from abound.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from abound.plots.colouring import ColouredText, coloured_text
    from abound.plots.confusions import Confusion, confused_pairs, find_confusions
    from abound.plots.explained import explanations
    from abound.plots.frequency import label_frequency
    from abound.plots.memory import accuracy_by_memory
    from abound.plots.per_label import label_quality
    from abound.plots.progressive import learning_curve, rank_then_learn
    from abound.plots.ranks import precision_at_k
    from abound.plots.reliability import reliability_diagram
    from abound.plots.style import background
    from abound.plots.thresholds import precision_recall
    from abound.plots.tried import tried_settings

_LAZY = {
    "colouring": ("ColouredText", "coloured_text"),
    "confusions": ("Confusion", "confused_pairs", "find_confusions"),
    "explained": ("explanations",),
    "frequency": ("label_frequency",),
    "memory": ("accuracy_by_memory",),
    "per_label": ("label_quality",),
    "progressive": ("learning_curve", "rank_then_learn"),
    "ranks": ("precision_at_k",),
    "reliability": ("reliability_diagram",),
    "style": ("background",),
    "thresholds": ("precision_recall",),
    "tried": ("tried_settings",),
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
    "label_quality",
    "learning_curve",
    "precision_at_k",
    "precision_recall",
    "rank_then_learn",
    "reliability_diagram",
    "tried_settings",
]

__getattr__, __dir__ = lazy_exports(__name__, _LAZY, __all__)
