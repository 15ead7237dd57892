"""One cluster for all tests: real executor processes on this machine, bound to the loopback address only."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import real_folder
from tests.spark.corpus import Corpus, made_corpus, real_corpus

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))  # one worker, one cluster


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later, and there is none here")
    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    environment = pytest.MonkeyPatch()
    environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    environment.setenv("SPARK_WORKER_DIR", str(scratch / "workers"))
    environment.setenv("PYSPARK_PYTHON", sys.executable)
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short runs: what the compiler would save costs more
    settings = {
        "spark.driver.extraJavaOptions": quick,
        "spark.executor.extraJavaOptions": quick,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),  # tasks of the tests are imported there
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
        "spark.deploy.maxExecutorRetries": "-1",  # tests kill more executors than a cluster would forgive
        "spark.task.maxFailures": "8",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("abound tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    environment.undo()


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Rows of a real set of titles where there is one, and else made ones."""
    folder = real_folder()
    return made_corpus() if folder is None else real_corpus(folder)


@pytest.fixture(scope="session")
def frame(spark, corpus):
    """The corpus as a DataFrame in another order, its numbers with gaps."""
    return spark.createDataFrame(corpus.shuffled(), "row long, text string, labels array<string>").repartition(3)
