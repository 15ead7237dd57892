"""`abound spark rank`: rank the texts of Parquet files on a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, note, wants_json
from abound.cli.spark.fit import TextOption
from abound.cli.spark.session import ConfOption, MasterOption, read_parquet, session

EPILOG = """\b
Example:
  abound spark rank subjects docs.parquet ranked.parquet -k 5
"""


def rank(
    model: ModelArgument,
    source: Annotated[str, typer.Argument(metavar="IN", help="A Parquet file or a directory of them.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="Directory for the ranked rows, as Parquet.")],
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="Number of labels per text.")] = 10,
    text_field: TextOption = "text",
    partition_by: Annotated[
        list[str] | None,
        typer.Option("--partition-by", metavar="NAME", help="A column to partition the output by; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = None,
) -> None:
    """Rank labels for every row of Parquet files, and add the columns `ranked` and `scores`."""
    if Path(target).exists() and not force:
        raise ValueError(f"{target} exists; replace it with --force")
    with session(master, conf) as spark:
        from abound.spark import rank as rank_on_spark

        ranked = rank_on_spark(read_parquet(spark, [source]), model, k, text=text_field)
        ranked.write.mode("overwrite").parquet(target, partitionBy=partition_by)
    if wants_json(as_json):
        emit({"model": model, "ranked": target, "k": k})
    else:
        note(f"wrote ranked rows to {target}")
