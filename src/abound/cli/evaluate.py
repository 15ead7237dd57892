"""`abound evaluate`: measure a model on labelled rows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.choosing import ReplaceOption, Selecting, replace_labels
from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, note, wants_json
from abound.cli.reading import LabelledReading
from abound.cli.vectors import Vectors

if TYPE_CHECKING:
    from abound.tagger import LabelQuality

EPILOG = """\b
Example:
  abound evaluate subjects test.jsonl
  abound evaluate subjects docs.jsonl --holdout every:20 --metrics P@1,R@10,MRR
  abound evaluate subjects docs.jsonl --holdout every:20 --plot pictures
  abound evaluate subjects test.jsonl --per-label --table
  abound evaluate subjects test.jsonl --per-label-csv quality.csv
  abound evaluate subjects test.jsonl --only http://example.org/animals
"""
SHOWN = 50  # labels in a table


def evaluate(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Files of texts and labels, directories of documents, or - for stdin."),
    ],
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
    per_label: Annotated[
        bool,
        typer.Option("--per-label", help="Print the quality of each label instead, the worst first."),
    ] = False,
    per_label_csv: Annotated[
        str | None,
        typer.Option("--per-label-csv", metavar="FILE", help="Write the quality of each label to this CSV file."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="DIR", help="Write plots and their data to this directory.")
    ] = None,
    replace_deprecated: ReplaceOption = False,
    dark: Annotated[bool, typer.Option("--dark", help="Draw plots for a dark background.")] = False,
    as_json: JsonOption = None,
    *,
    selecting: Selecting,
    reading: LabelledReading,
    vectors: Vectors,
) -> None:
    """Rank labelled rows and print metrics of the rankings with 95% confidence intervals."""
    from abound.cli.holdout import parse_holdout
    from abound.cli.inputs import Inputs
    from abound.cli.measures import check_measures, evaluate_documents, figures_of
    from abound.cli.progress import Progress
    from abound.metrics import DEFAULT_METRICS

    names = DEFAULT_METRICS if metrics is None else [name.strip() for name in metrics.split(",") if name.strip()]
    if not names:
        raise ValueError("--metrics must name at least one metric")
    n_ranks, rule = check_measures(names, depth), parse_holdout(holdout)
    if rule.file is not None:
        raise ValueError("--holdout must be every:N or share:X here; pass a file of held-out rows as INPUT")
    selected = selecting.labels()
    if plot is not None:
        if selected:
            raise ValueError("--plot draws all labels; omit --only and --without")
        from abound.cli.pictures import check_plots, draw_evaluation

        check_plots()
    documents = Inputs(inputs, reading, rule, vectors)
    tagger = load_tagger(model)
    selecting.note_unknown(tagger)
    if replace_deprecated:
        replace_labels([documents], tagger.hierarchy)
    with Progress("ranking", documents.share) as progress:
        rows = documents.held_out() if rule.share else iter(documents)
        kept = None if plot is None else list(rows)
        evaluation = evaluate_documents(tagger, rows if kept is None else kept, n_ranks, progress.update, **selected)
    documents.note_skipped()
    if plot is not None and kept is not None:
        labelled = [row for row in kept if row.labels]
        with Progress("drawing", lambda: None):
            files = draw_evaluation(
                tagger, model, labelled, documents.training_rows() if rule.share else labelled, plot, dark, evaluation
            )
        note(f"wrote {', '.join(files)} to {plot}")
    labels = evaluation.per_label() if per_label or per_label_csv is not None else []
    if not evaluation.has_probabilities and (per_label or per_label_csv is not None):
        note("the model has no probabilities: the first label of each row counts as assigned")
    if per_label_csv is not None:
        from abound.tagger.label_quality import write_quality

        write_quality(labels, per_label_csv)
        note(f"wrote the quality of {len(labels):,} labels to {per_label_csv}")
    if per_label:
        _print_labels(f"{model} on {evaluation.n_labelled:,} rows", labels, wants_json(as_json), tagger.name_of)
        return
    result = figures_of(evaluation, names)
    if wants_json(as_json):
        emit({"model": model, **result, "skipped": documents.n_skipped})
        return
    from abound.cli.tables import measures_table

    measures_table(f"{model} on {result['labelled']:,} rows", result)


def _print_labels(title: str, labels: Sequence["LabelQuality"], as_json: bool, name_of: Callable[[Any], str]) -> None:
    """Print the quality of labels: a line of JSON for each, or a table of the worst."""
    if as_json:
        for row in labels:
            emit(asdict(row))
        return
    from abound.cli.tables import labels_table

    labels_table(title, labels[:SHOWN], name_of)
    if len(labels) > SHOWN:
        note(f"these are the worst {SHOWN} of {len(labels):,} labels; --json or --per-label-csv FILE gives all")
