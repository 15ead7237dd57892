"""`abound spark`: train and rank on Spark. One file per command."""

from abound.cli.spark import export, fit, rank

EPILOG = "Example: abound spark fit docs.parquet --model subjects && abound spark rank subjects new.parquet ranked"
HELP = "Train and rank on a Spark cluster."
COMMANDS = ((fit.fit, fit.EPILOG), (rank.rank, rank.EPILOG), (export.export, export.EPILOG))
