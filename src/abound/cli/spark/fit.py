"""`abound spark fit`: train a model on a cluster."""

from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, show_size, wants_json
from abound.cli.embedding import RefusedOption, refuse_embeddings
from abound.cli.fit import ForceOption, Setting, TargetOption
from abound.cli.spark.session import ConfOption, MasterOption, read_parquet, session
from abound.cli.targets import lock_target

EPILOG = """\b
Example:
  abound spark fit docs.parquet --model subjects --shards 8
  abound spark fit docs.parquet --model subjects --shards 8 --resume
"""
InputsArgument = Annotated[list[str], typer.Argument(metavar="INPUT", help="Parquet files or directories of them.")]
TextOption = Annotated[str, typer.Option("--text-field", metavar="NAME", help="Column of the texts.")]


def fit(
    ctx: typer.Context,
    inputs: InputsArgument,
    model: TargetOption,
    text_field: TextOption = "text",
    labels_field: Annotated[
        str, typer.Option("--labels-field", metavar="NAME", help="Column of the lists of labels.")
    ] = "labels",
    row_field: Annotated[
        str, typer.Option("--row-field", metavar="NAME", help="Column of unique integers that order the rows.")
    ] = "row",
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards", min=1, metavar="N", help="Number of shards that are learned in parallel. Default: one per core."
        ),
    ] = None,
    work: Annotated[
        str | None,
        typer.Option(
            "--work", metavar="DIR", help="Shared directory for rows and models between stages. Default: MODEL.work."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted training.")] = False,
    master: MasterOption = None,
    conf: ConfOption = None,
    force: ForceOption = False,
    as_json: JsonOption = None,
    embeddings: RefusedOption = None,
    *,
    setting: Setting,
) -> None:
    """Train a model on Parquet files with Spark.

    The model is identical, byte for byte, to one that was trained with as many shards on one machine.
    """
    refuse_embeddings(embeddings, "training on Spark learns words only; use abound fit")
    lock_target(ctx, model, force)
    params = setting.params()
    with session(master, conf) as spark:
        from abound.spark import fit as fit_on_spark

        report = fit_on_spark(
            read_parquet(spark, inputs),
            model,
            text=text_field,
            labels=labels_field,
            row=row_field,
            passes=setting.passes,
            shards=shards,
            work=work,
            resume=resume,
            progress=StageLines(),
            **params,
        )
    if wants_json(as_json):
        emit(vars(report))
        return
    from abound.cli.tables import facts

    shown: list[tuple[str, Any]] = [(name, getattr(report, name)) for name in ("rows", "labels", "features")]
    seconds = [
        (stage["stage"], f"{stage['seconds']:.1f} s, {show_size(stage['peak_bytes'])}") for stage in report.stages
    ]
    facts(model, [*shown, *seconds, ("state", report.state_hash)])
    note(f"saved to {model}; try: abound rank {model} 'a text'")


class StageLines:
    """Print the progress of a stage on stderr after each tenth of its tasks."""

    def __init__(self) -> None:
        self.last: tuple[str, int] = ("", -1)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report the number of finished tasks of a stage."""
        now = (stage, 10 * done // total)
        if now != self.last:
            self.last = now
            note(f"{stage}: {done:,} of {total:,} tasks")
