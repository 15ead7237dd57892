"""`abound feedback`: learn which ranked labels a person accepts, for `abound rank --bands`."""

from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, wants_json
from abound.cli.homes import is_home
from abound.cli.reading import LabelledReading
from abound.cli.targets import lock_model

EPILOG = """\b
Example:
  abound feedback subjects --text "Growing roses in cold climates" --accept roses --reject mountains
  abound feedback subjects judged.jsonl --apply-target 0.9
"""
CHUNK = 500


def feedback(
    ctx: typer.Context,
    model: ModelArgument,
    input_: Annotated[
        str | None, typer.Argument(metavar="[INPUT]", help="A file of texts and their accepted labels, or - for stdin.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="One text that a person has reviewed.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="LABEL", help="A label accepted for the text; may be repeated."),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option(
            "--reject",
            metavar="LABEL",
            help="A label rejected for the text; may be repeated. Default: all shown labels that were not accepted.",
        ),
    ] = None,
    apply_target: Annotated[
        float | None,
        typer.Option(
            "--apply-target",
            metavar="X",
            help="Reset the bands and set the target precision of applied labels (0 to 1).",
        ),
    ] = None,
    as_json: JsonOption = None,
    *,
    reading: LabelledReading,
) -> None:
    """Learn the bands from accepted and rejected labels, and save the model in place."""
    if (input_ is None) == (text is None):
        raise typer.BadParameter("give either INPUT, or --text with --accept and --reject")
    if (accept or reject) and text is None:
        raise typer.BadParameter("--accept and --reject need --text")
    if is_home(model):
        raise ValueError(f"{model} is the home of a served model; give feedback to its server, or learn corrections")
    lock_model(ctx, model)
    tagger, rows = load_tagger(model), 0
    if apply_target is not None:
        from abound.ordinal.bands import Bands

        tagger.bands = Bands(apply_target)
    if text is not None:
        tagger.feedback(text, accept or [], reject or None)
        rows = 1
    else:
        from abound.cli.inputs import Inputs, chunks

        inputs = Inputs([str(input_)], reading)
        for chunk in chunks(inputs.training_rows(), CHUNK):
            tagger.feedback_many([document.text for document in chunk], [document.labels for document in chunk])
            rows += len(chunk)
        inputs.note_skipped()
        if not rows:
            raise ValueError(f"there is no row to learn from in {input_}")
    tagger.save(model)
    report: dict[str, Any] = {"rows": rows, "report": tagger.bands.report() if tagger.bands else ""}
    if wants_json(as_json):
        emit({"model": model, **report})
        return
    from abound.cli.tables import facts

    facts(model, list(report.items()))
