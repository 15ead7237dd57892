"""Metrics of label rankings, of document rankings for queries and of ordinal predictions, with intervals."""

from abound.metrics.bootstrap import Interval, compare, interval
from abound.metrics.judgement import Judgement, judge
from abound.metrics.label_ranking import DEFAULT_METRICS, METRICS, evaluate, metric
from abound.metrics.ordinal import ORDINAL_METRICS, evaluate_ranks, rank_interval
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

__all__ = [
    "DEFAULT_METRICS",
    "DEFAULT_QUERY_METRICS",
    "METRICS",
    "ORDINAL_METRICS",
    "QUERY_METRICS",
    "Interval",
    "Judgement",
    "QueryJudgement",
    "compare",
    "evaluate",
    "evaluate_queries",
    "evaluate_ranks",
    "evaluate_run",
    "interval",
    "judge",
    "judge_queries",
    "judge_run",
    "metric",
    "query_figures",
    "query_metric",
    "rank_interval",
    "summarize_queries",
]
