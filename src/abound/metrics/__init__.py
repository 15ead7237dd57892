"""How good a ranking is: measures of label rankings, by name, with intervals."""

from abound.metrics.bootstrap import Interval, compare, interval
from abound.metrics.judgement import Judgement, judge
from abound.metrics.label_ranking import DEFAULT_METRICS, METRICS, evaluate, metric

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Interval",
    "Judgement",
    "compare",
    "evaluate",
    "interval",
    "judge",
    "metric",
]
