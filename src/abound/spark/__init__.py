"""Training and ranking on Spark, with the same state hashes as on one machine; see docs/cluster.md."""

from abound.spark.ranking import rank
from abound.spark.table import export_index, query, terms_table
from abound.spark.training import Report, fit

__all__ = ["Report", "export_index", "fit", "query", "rank", "terms_table"]
