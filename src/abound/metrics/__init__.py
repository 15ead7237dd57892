"""Metrics of label rankings, single labels, probabilities, document rankings and ordinal predictions."""

from abound.metrics.bootstrap import Interval, compare, interval
from abound.metrics.hierarchical import HierarchicalQuality, hierarchical_quality
from abound.metrics.judgement import Judgement, judge
from abound.metrics.label_ranking import DEFAULT_METRICS, METRICS, evaluate, metric
from abound.metrics.ordinal import ORDINAL_METRICS, evaluate_ranks, rank_interval
from abound.metrics.per_label import LabelFigures, label_figures
from abound.metrics.query_ranking import (
    DEFAULT_QUERY_METRICS,
    QUERY_METRICS,
    QueryJudgement,
    evaluate_queries,
    evaluate_run,
    judge_queries,
    judge_run,
    query_figures,
    query_metric,
    summarize_queries,
)
from abound.metrics.reliability import CalibrationBin, calibration_bins, expected_calibration_error

__all__ = [
    "DEFAULT_METRICS",
    "DEFAULT_QUERY_METRICS",
    "METRICS",
    "ORDINAL_METRICS",
    "QUERY_METRICS",
    "CalibrationBin",
    "HierarchicalQuality",
    "Interval",
    "Judgement",
    "LabelFigures",
    "QueryJudgement",
    "calibration_bins",
    "compare",
    "evaluate",
    "evaluate_queries",
    "evaluate_ranks",
    "evaluate_run",
    "expected_calibration_error",
    "hierarchical_quality",
    "interval",
    "judge",
    "judge_queries",
    "judge_run",
    "label_figures",
    "metric",
    "query_figures",
    "query_metric",
    "rank_interval",
    "summarize_queries",
]
