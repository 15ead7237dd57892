"""How good a ranking is: measures of label rankings, by name, with intervals."""

from abound.metrics.bootstrap import Interval, compare, interval
from abound.metrics.judgement import Judgement, judge
from abound.metrics.label_ranking import DEFAULT_METRICS, METRICS, evaluate, metric
from abound.metrics.ordinal import ORDINAL_METRICS, evaluate_ranks, rank_interval

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "ORDINAL_METRICS",
    "Interval",
    "Judgement",
    "compare",
    "evaluate",
    "evaluate_ranks",
    "interval",
    "judge",
    "metric",
    "rank_interval",
]
