"""The Spark session of the commands: that of spark-submit, or a new one on this machine's cores."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MasterOption = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Spark master. Default: all cores of this machine.")
]
ConfOption = Annotated[
    list[str] | None, typer.Option("--conf", metavar="NAME=VALUE", help="A Spark setting; may be repeated.")
]
LOCAL = "local[*]"


@contextmanager
def session(master: str | None, conf: Sequence[str] | None) -> "Iterator[SparkSession]":
    """Yield a session, and stop it at the end if it was created here."""
    from abound.data.extras import require

    sql = require("pyspark.sql", "spark", "Spark jobs")
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors on this machine run the same Python
    builder = sql.SparkSession.builder.appName("abound").config("spark.ui.showConsoleProgress", "false")
    if master is not None or "SPARK_MASTER" not in os.environ:
        builder = builder.master(master or os.environ.get("MASTER", LOCAL))
    for pair in conf or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--conf must be NAME=VALUE, got {pair!r}")
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def read_parquet(spark: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """Return the rows of Parquet files or folders of them."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.parquet(*paths)
    except AnalysisException as error:
        raise ValueError(f"{', '.join(paths)} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
