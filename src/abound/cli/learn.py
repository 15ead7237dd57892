"""`abound learn`: continue training a model."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, load_tagger, wants_json
from abound.cli.homes import is_home, learn_in_home, teach_home
from abound.cli.label_names import FileLabels, LabelsAreOption, check_option, note_labels
from abound.cli.rank_changes import DEPTH, compare, ranks_of
from abound.cli.reading import FieldOption, WeightedReading, parse_fields
from abound.cli.remote import MODEL_HELP, KeyOption, ServerOption, learn_on_server, model_and_input, teach_server
from abound.cli.targets import lock_model
from abound.cli.vectors import Vectors
from abound.texts import Text, joined

if TYPE_CHECKING:
    from abound.tagger import Tagger
    from abound.tagger.naming import LabelsAre

EPILOG = """\b
Example:
  abound learn subjects new.jsonl
  abound learn subjects --text "Growing roses in cold climates" --label roses --wrong climate
  abound learn --server http://127.0.0.1:8000 new.jsonl
"""


def learn(
    ctx: typer.Context,
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help=MODEL_HELP)] = None,
    input_: Annotated[
        str | None,
        typer.Argument(metavar="[INPUT]", help="A file of texts and labels, a directory of documents, or - for stdin."),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="One text to learn.")] = None,
    field: FieldOption = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="LABEL", help="A label of the text; may be repeated.")
    ] = None,
    wrong: Annotated[
        list[str] | None,
        typer.Option("--wrong", metavar="LABEL", help="A label that the text must not have; may be repeated."),
    ] = None,
    as_json: JsonOption = None,
    server: ServerOption = None,
    key: KeyOption = None,
    labels_are: LabelsAreOption = "either",
    *,
    reading: WeightedReading,
    vectors: Vectors,
) -> None:
    """Learn more rows, or one text with its labels. Save the model in place, or send the rows to a server.

    In the home of a served model, each row becomes a record of the journal. The server must be stopped.
    """
    model, input_ = model_and_input(model, input_, server)
    if (input_ is not None) + (text is not None) + bool(field) != 1:
        raise typer.BadParameter("give either INPUT, or --text or --field with labels")
    given: Text | None = parse_fields(field) if field else text
    if bool(label or wrong) != (given is not None):
        raise typer.BadParameter("--text and --field need --label or --wrong, and these need a text")
    if server is not None and reading.weight_field:
        raise typer.BadParameter("a server learns every row once; omit --weight-field with --server")
    if server is not None or is_home(str(model)):
        vectors.refuse("a served model encodes the texts itself")
    if given is not None:
        vectors.refuse("they are those of the rows of INPUT")
    how = check_option(labels_are)
    right_and_wrong = list(dict.fromkeys(label or ())), list(dict.fromkeys(wrong or ()))
    if given is not None:
        check_example(given, *right_and_wrong)
    if given is None:
        from abound.cli.inputs import Inputs

        inputs = Inputs([str(input_)], reading, vectors=vectors)
    if server is not None:
        if given is None:
            result = learn_on_server(server, key, inputs, how)
        else:
            result = teach_server(server, key, given, *right_and_wrong, how)
        report(server, result, as_json)
        return
    model = str(model)
    if is_home(model):
        if reading.weight_field:
            raise typer.BadParameter("a served model learns every row once; omit --weight-field")
        taught = None if given is None else teach_home(model, given, *right_and_wrong, how)
        result = learn_in_home(model, inputs, how) if taught is None else taught
        report(model, result, as_json)
        return
    lock_model(ctx, model)
    if given is not None:
        tagger = load_tagger(model)
        result = teach(tagger, given, *right_and_wrong, how)
    else:
        from abound.cli.learning import learn_stream

        tagger = load_tagger(model)
        known = tagger.n_labels
        names = FileLabels(lambda label: tagger.label_of(label, how))
        inputs.label_of = names
        stats = learn_stream(tagger, inputs)
        inputs.check_labels()
        note_labels(names.resolved, tagger.ranker.labels_.names[known:] if tagger.label_names else ())
        result = {**stats.as_dict(), "skipped": inputs.n_skipped, "new_labels": tagger.n_labels - known}
    tagger.save(model)
    report(model, {**result, "rows_in_all": tagger.n_rows, "labels_in_all": tagger.n_labels}, as_json)


def check_example(text: Text, labels: list[str], wrong: list[str]) -> None:
    """Raise an error if the text has no words or a label is empty."""
    from abound.text.words import prepare, words_of

    if not words_of(prepare(joined(text))):
        raise ValueError(
            f"{'--text' if isinstance(text, str) else '--field'} must have at least one word, got {text!r}"
        )
    for option, given in (("--label", labels), ("--wrong", wrong)):
        if not all(label.strip() for label in given):
            raise ValueError(f"{option} must not be empty")


def teach(tagger: "Tagger", text: Text, labels: list[str], wrong: list[str], how: "LabelsAre") -> dict[str, Any]:
    """Learn one text, and return the ranks of its labels and of the wrong ones before and after."""
    names = FileLabels(lambda label: tagger.label_of(label, how))
    labels, wrong = list(dict.fromkeys(map(names, labels))), list(dict.fromkeys(map(names, wrong)))
    known, before = tagger.n_labels, ranks_of(tagger.rank(text, DEPTH)) if tagger.n_rows else {}
    started = time.perf_counter()
    tagger.learn(text, labels, wrong=wrong, labels_are="ids")
    seconds = time.perf_counter() - started
    note_labels(names.resolved, tagger.ranker.labels_.names[known:])
    taught = compare(labels + wrong, before, ranks_of(tagger.rank(text, DEPTH)))
    return {"rows": 1, "seconds": round(seconds, 6), "new_labels": tagger.n_labels - known, "taught": taught}


def report(model: str, result: dict[str, Any], as_json: bool | None) -> None:
    """Print what was learned."""
    if wants_json(as_json):
        emit({"model": model, **result})
        return
    from abound.cli.tables import facts, table

    hidden = ("taught", "dropped", "progressive_p1")
    facts(model, [(name.replace("_", " "), value) for name, value in result.items() if name not in hidden])
    if "taught" in result:
        rows = [
            (taught["label"], str(taught["rank_before"] or "-"), str(taught["rank_after"] or "-"))
            for taught in result["taught"]
        ]
        table("ranks for this text", ("label", "before", "after"), rows, " rr")
