"""`abound fit`: learn a model from scratch."""

import difflib
import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli import memory
from abound.cli.common import STANDARD, JsonOption, emit, note, parse_size, show_size, wants_json
from abound.cli.reading import LabelledReading
from abound.cli.targets import lock_target

if TYPE_CHECKING:
    from abound.cli.holdout import Holdout
    from abound.cli.inputs import Inputs
    from abound.cli.learning import LearnStats
    from abound.tagger import Tagger

EPILOG = """\b
Example:
  abound fit docs.jsonl
  abound fit docs.jsonl.gz --model subjects --holdout every:20 --max-memory 300M
  abound fit docs.tsv.xz --label-names labels.tsv --model subjects
  abound fit titles.csv --text-field title --labels-field tags --label-separator ";" --model tags
"""


SHOWN = ["rows", "labels", "features", "edges", "language", "passes", "second stage", "memory", "dropped"]
SHOWN += ["seconds", "rows/s", "progressive P@1"]
SAMPLED = 1_000  # rows that tell in which language the names of a vocabulary are read
InputsArgument = Annotated[
    list[str], typer.Argument(metavar="INPUT", help="Files of texts and labels, or - for stdin.")
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="DIR", help="Where the model goes; named after the input if not given."),
]
TargetOption = Annotated[str, typer.Option("--model", "-m", metavar="DIR", help="Where the model goes.")]
LabelNamesOption = Annotated[
    str | None,
    typer.Option(
        "--label-names",
        metavar="FILE",
        help="Names of the labels, learned too: lines of id, tab, name; or a SKOS vocabulary (.ttl, .nt, .rdf).",
    ),
]
HoldoutOption = Annotated[
    str | None, typer.Option("--holdout", metavar="RULE", help="Rows to measure on: every:20, share:0.1, or a file.")
]
MaxMemoryOption = Annotated[
    str | None, typer.Option("--max-memory", metavar="SIZE", help="Keep the model below this size, such as 300M.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the model that DIR holds.")]


@dataclass(frozen=True)
class Setting:
    """Parameters of the model that is learned; one that is None keeps its default."""

    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="CODE",
            help="Language of the texts and of SKOS names, such as en: chooses stemmer and word parts. "
            "DetectedLanguage if not given; none for whole words.",
        ),
    ] = None
    ranker: Annotated[str | None, typer.Option("--ranker", metavar="NAME", help="What learns and ranks.")] = None
    ranker_param: Annotated[
        list[str] | None,
        typer.Option("--ranker-param", metavar="NAME=VALUE", help="A parameter of the ranker; may be repeated."),
    ] = None
    ngrams: Annotated[int | None, typer.Option("--ngrams", metavar="N", help="Longest run of words.")] = None
    char_ngrams: Annotated[
        str | None, typer.Option("--char-ngrams", metavar="LO-HI", help="Shortest and longest part of a word.")
    ] = None
    stem: Annotated[str | None, typer.Option("--stem", metavar="LANG", help="Stem words of this language.")] = None
    min_count: Annotated[int | None, typer.Option("--min-count", metavar="N", help="Leave rarer words out.")] = None
    passes: Annotated[
        int | None,
        typer.Option(
            "--passes",
            metavar="N",
            help="Passes over the training rows. "
            "Default: 3 for up to 1,000 labels, else 2, or 1 from a million rows on.",
        ),
    ] = None

    def params(self) -> dict[str, Any]:
        """Return the parameters of a tagger that were given, without passes."""
        given = {name: value for name, value in vars(self).items() if value is not None and name != "passes"}
        given["ranker_params"] = parse_pairs(given.pop("ranker_param", ()))
        if self.char_ngrams is not None:
            given["char_ngrams"] = parse_span(self.char_ngrams)
        if self.language == "none":
            given["language"] = None
        return given


@dataclass(frozen=True)
class NamedSetting(Setting):
    """Parameters of a model that learns the names of labels, too."""

    name_weight: Annotated[
        float | None,
        typer.Option(
            "--name-weight", metavar="W", help="How much a label's name counts as an example; 0 for not at all."
        ),
    ] = None


def fit(
    ctx: typer.Context,
    inputs: InputsArgument,
    model: ModelOption = None,
    label_names: LabelNamesOption = None,
    holdout: HoldoutOption = None,
    max_memory: MaxMemoryOption = None,
    force: ForceOption = False,
    as_json: JsonOption = None,
    *,
    setting: NamedSetting,
    reading: LabelledReading,
) -> None:
    """Learn a model from files of texts and labels."""
    model = model_name(inputs) if model is None else model
    lock_target(ctx, model, force)
    limit_bytes = None if max_memory is None else parse_size(max_memory)
    from abound.cli.holdout import parse_holdout
    from abound.cli.inputs import Inputs
    from abound.cli.learning import learn_files, learn_stream

    rule = parse_holdout(holdout)
    documents = Inputs(inputs, reading, rule)
    apart = None if rule.file is None else Inputs([rule.file], replace(reading, limit=None))
    params, passes = setting.params(), setting.passes
    params["ranker_params"] |= {} if passes is None else {"passes": passes}
    tagger = make_tagger(**params)
    max_bytes = None if limit_bytes is None else memory.model_budget(limit_bytes)
    names = {} if label_names is None else names_of(label_names, setting.language, documents)
    if STANDARD in inputs and passes is None:  # a stream may have no end, so it is learned row by row
        note("rows from stdin are learned in one pass, as they come; a file, or --passes, ranks better")
        stats = learn_stream(tagger, documents, max_bytes, names)
    else:
        stats = learn_files(tagger, documents, Path(model), max_bytes, names)
    n_skipped = documents.n_skipped
    if not stats.rows:
        raise ValueError(f"there is nothing to learn in {', '.join(inputs)}")
    documents.check_labels(needed=not tagger.n_labels)
    tagger.save(model)
    report(tagger, stats, model, n_skipped, _held_out(tagger, documents, rule, apart), as_json)


def names_of(path: str, language: str | None, documents: "Inputs") -> dict[str, list[str]]:
    """Read the names of labels; of a SKOS vocabulary, those in the language of the texts."""
    from abound import data

    if not data.is_vocabulary(path):
        return data.read_label_names(path)
    from abound.text.language import AUTO, detect

    if language not in (None, AUTO):
        return data.read_label_names(path, None if language == "none" else language)
    likely = None if documents.is_stream else detect(row.text for row in islice(documents, SAMPLED)).language
    return data.read_label_names(path, likely_language=likely)


def model_name(inputs: list[str]) -> str:
    """Return the directory that a model goes to if none is named: the first input's name without its suffixes.

    Examples
    --------
    >>> model_name(["data/docs.tsv.xz"]), model_name(["titles"])
    ('docs', 'titles.model')
    """
    if "-" in inputs:
        raise ValueError("a model that is learned from stdin needs a name: --model DIR")
    name = Path(inputs[0]).name
    return name.split(".")[0] if name.split(".")[0] not in ("", name) else f"{name}.model"


def make_tagger(*, ranker_params: dict[str, Any], **params: Any) -> "Tagger":
    """Build a tagger; a parameter that the ranker lacks is refused."""
    from abound.rankers import ranker_class
    from abound.tagger import Tagger

    kind = params.get("ranker", inspect.signature(Tagger).parameters["ranker"].default)
    known = inspect.signature(ranker_class(kind)).parameters
    for name in ranker_params:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'none'}"
            raise ValueError(f"ranker {kind!r} has no parameter {name!r}; {hint}")
    return Tagger(ranker_params=ranker_params, **params)


def parse_span(text: str) -> tuple[int, int]:
    """Return the two numbers of a span such as 3-5; a single one is both."""
    low, dash, high = text.partition("-")
    try:
        return int(low), int(high if dash else low)
    except ValueError:
        raise ValueError(f"--char-ngrams must be LO-HI, such as 3-5, got {text!r}") from None


def parse_pairs(pairs: Iterable[str]) -> dict[str, Any]:
    """Return NAME=VALUE pairs as a dict; a value is read as JSON, or else is the text itself."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--ranker-param must be NAME=VALUE, got {pair!r}")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def _held_out(tagger: "Tagger", documents: "Inputs", rule: "Holdout", apart: "Inputs | None") -> dict[str, Any] | None:
    """Measure the model on the rows that it was not given, if there are any."""
    if not rule.share and apart is None:
        return None
    from abound.cli.measures import HELD_OUT, NothingToMeasure, check_measures, measure
    from abound.cli.progress import Progress

    source = documents if apart is None else apart
    with Progress("measuring", source.share) as progress:
        rows = source.held_out() if apart is None else iter(source)
        try:
            return measure(tagger, rows, HELD_OUT, check_measures(HELD_OUT, 1), progress.update)
        except NothingToMeasure as error:  # the model is saved, and as good as it was
            note(f"{error}")
            return None


def report(
    tagger: "Tagger",
    stats: "LearnStats",
    model: str,
    n_skipped: int,
    held_out: dict[str, Any] | None,
    as_json: bool | None,
) -> None:
    """Print what was learned, and how good it is on what was held out."""
    figures = {
        "model": model,
        **stats.as_dict(),
        "skipped": n_skipped,
        "labels": tagger.n_labels,
        "features": tagger.n_features,
        "edges": tagger.n_edges,
        "memory_bytes": tagger.nbytes,
        "held_out": held_out,
    }
    if wants_json(as_json):
        emit(figures)
        return
    from abound.cli.tables import facts, measures_table

    shown = {**figures, "memory": show_size(tagger.nbytes), "rows/s": round(figures["rows_per_second"] or 0)}
    if stats.progressive_p1 is not None:
        shown["progressive P@1"] = f"{stats.progressive_p1:.4f} (the last {len(stats.hits):,} rows tested)"
    if stats.dropped:
        shown["dropped"] = ", ".join(f"{count:,} {name}" for name, count in stats.dropped.items())
    if "passes" in shown:
        shown["second stage"] = "yes" if shown["second_stage"] else "no"
        shown["language"] = shown["language"] or "none: whole words"
    facts(model, [(name, shown[name]) for name in SHOWN if shown.get(name) is not None])
    if held_out is not None:
        measures_table(f"on {held_out['labelled']:,} held-out rows", held_out["measures"])
    note(f"saved to {model}; try: abound rank {model} 'a text'")


def show_defaults(options: Iterable[Any]) -> None:
    """Put the defaults of the tagger's parts into the help of the options that set them."""
    from abound.rankers import ranker_class
    from abound.tagger import Tagger
    from abound.text import TextEncoder

    defaults = dict(inspect.signature(Tagger).parameters)
    defaults |= inspect.signature(TextEncoder).parameters
    defaults |= inspect.signature(ranker_class(defaults["ranker"].default)).parameters
    for option in options:
        known = defaults.get(option.name)
        if known is not None and known.default not in (None, inspect.Parameter.empty):
            option.help = f"{option.help}  [default: {known.default}]"
