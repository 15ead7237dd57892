"""The same training and ranking on Spark, hash for hash; see docs/cluster.md."""

from abound.spark.ranking import rank
from abound.spark.table import export_index, query, terms_table
from abound.spark.training import Report, fit

__all__ = ["Report", "export_index", "fit", "query", "rank", "terms_table"]
