"""`abound evaluate`: measure a model on labelled rows."""

from typing import Annotated

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, note, wants_json
from abound.cli.reading import LabelledReading

EPILOG = """\b
Example:
  abound evaluate subjects test.jsonl
  abound evaluate subjects docs.jsonl --holdout every:20 --metrics P@1,R@10,MRR
  abound evaluate subjects docs.jsonl --holdout every:20 --plot pictures
"""


def evaluate(
    model: ModelArgument,
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT", help="Files of texts and labels, or - for stdin.")],
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="NAMES", help="Metrics, separated by commas, such as P@1,MRR.")
    ] = None,
    holdout: Annotated[
        str | None,
        typer.Option(
            "--holdout",
            metavar="RULE",
            help="Measure only the rows that `fit` held out with the same rule: every:N or share:X.",
        ),
    ] = None,
    depth: Annotated[
        int,
        typer.Option("--depth", min=1, metavar="N", help="Number of ranks for metrics without a number, such as MRR."),
    ] = 100,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="DIR", help="Write plots and their data to this directory.")
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Draw plots for a dark background.")] = False,
    as_json: JsonOption = None,
    *,
    reading: LabelledReading,
) -> None:
    """Rank labelled rows and print metrics of the rankings with 95% confidence intervals."""
    from abound.cli.holdout import parse_holdout
    from abound.cli.inputs import Inputs
    from abound.cli.measures import check_measures, measure
    from abound.cli.progress import Progress
    from abound.metrics import DEFAULT_METRICS

    names = DEFAULT_METRICS if metrics is None else [name.strip() for name in metrics.split(",") if name.strip()]
    if not names:
        raise ValueError("--metrics must name at least one metric")
    n_ranks, rule = check_measures(names, depth), parse_holdout(holdout)
    if rule.file is not None:
        raise ValueError("--holdout must be every:N or share:X here; pass a file of held-out rows as INPUT")
    if plot is not None:
        from abound.cli.pictures import check_plots, draw_evaluation

        check_plots()
    documents = Inputs(inputs, reading, rule)
    tagger = load_tagger(model)
    with Progress("ranking", documents.share) as progress:
        rows = documents.held_out() if rule.share else iter(documents)
        kept = None if plot is None else list(rows)
        result = measure(tagger, rows if kept is None else kept, names, n_ranks, progress.update)
    documents.note_skipped()
    if plot is not None and kept is not None:
        labelled = [row for row in kept if row.labels]
        with Progress("drawing", lambda: None):
            files = draw_evaluation(
                tagger, model, labelled, documents.training_rows() if rule.share else labelled, plot, dark
            )
        note(f"wrote {', '.join(files)} to {plot}")
    if wants_json(as_json):
        emit({"model": model, **result, "skipped": documents.n_skipped})
        return
    from abound.cli.tables import measures_table

    measures_table(f"{model} on {result['labelled']:,} rows", result["measures"])
