"""`abound fit`: train a model from scratch."""

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
from abound.cli.choosing import ReplaceOption, replace_labels
from abound.cli.common import STANDARD, JsonOption, emit, note, parse_size, show_size, wants_json
from abound.cli.embedding import Embedding, note_opinion
from abound.cli.label_names import FileLabels, LabelsAreOption, check_option, note_labels
from abound.cli.reading import WeightedReading
from abound.cli.targets import lock_target
from abound.cli.vectors import Vectors

if TYPE_CHECKING:
    from abound.cli.holdout import Holdout
    from abound.cli.inputs import Inputs
    from abound.cli.learning import LearnStats
    from abound.data import Vocabulary
    from abound.hierarchy import Hierarchy
    from abound.tagger import Tagger

EPILOG = """\b
Example:
  abound fit docs.jsonl
  abound fit docs.jsonl.gz --model subjects --holdout every:20 --max-memory 300M
  abound fit docs.tsv.xz --label-names labels.tsv --model subjects
  abound fit reports --model subjects
  abound fit docs.jsonl --label-names vocabulary.ttl --replace-deprecated --model subjects
  abound fit docs.csv --weight-field weight --model subjects
  abound fit titles.csv --text-field title --labels-field tags --label-separator ";" --model tags
  abound fit papers.jsonl --text-field title --text-field abstract --field-weight title=3
  abound fit docs.jsonl --embeddings wordllama --model subjects
  abound fit docs.jsonl --vectors docs.npy --model subjects
"""


SHOWN = ["rows", "labels", "features", "edges", "language", "fields", "passes", "second stage", "memory", "dropped"]
SHOWN += ["seconds", "rows/s", "progressive P@1"]
SAMPLED = 1_000  # rows from which the language of the names in a vocabulary is detected
InputsArgument = Annotated[
    list[str],
    typer.Argument(metavar="INPUT", help="Files of texts and labels, directories of documents, or - for stdin."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="Directory for the model. Default: the name of the first input without its suffixes.",
    ),
]
TargetOption = Annotated[str, typer.Option("--model", "-m", metavar="DIR", help="Directory for the model.")]
LabelNamesOption = Annotated[
    str | None,
    typer.Option(
        "--label-names",
        metavar="FILE",
        help="Names of the labels, also learned: lines of id, tab, name; or a SKOS vocabulary (.ttl, .nt, .rdf), which "
        "also gives the hierarchy.",
    ),
]
HierarchyOption = Annotated[
    str | None,
    typer.Option(
        "--hierarchy",
        metavar="FILE",
        help="How labels are related: a table of child and parent (.tsv, .csv), or a SKOS vocabulary.",
    ),
]
HoldoutOption = Annotated[
    str | None,
    typer.Option(
        "--holdout", metavar="RULE", help="Rows to measure on instead of learning them: every:20, share:0.1, or a file."
    ),
]
MaxMemoryOption = Annotated[
    str | None, typer.Option("--max-memory", metavar="SIZE", help="Limit for the memory of the process, such as 300M.")
]
NoExamplesOption = Annotated[
    bool,
    typer.Option(
        "--no-examples",
        help="Store no texts in the model. By default, these are three, and with vectors the beginnings of all texts.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing model in DIR.")]


@dataclass(frozen=True)
class Setting:
    """Parameters of the model. None means the default."""

    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="CODE",
            help="Language of the texts and of SKOS names, such as en. It chooses the stemmer and word parts. "
            "Detected by default (auto); none means whole words.",
        ),
    ] = None
    ranker: Annotated[str | None, typer.Option("--ranker", metavar="NAME", help="Ranking algorithm.")] = None
    ranker_param: Annotated[
        list[str] | None,
        typer.Option("--ranker-param", metavar="NAME=VALUE", help="A parameter of the ranker; may be repeated."),
    ] = None
    ngrams: Annotated[int | None, typer.Option("--ngrams", metavar="N", help="Longest word n-gram.")] = None
    char_ngrams: Annotated[
        str | None,
        typer.Option(
            "--char-ngrams", metavar="LO-HI", help="Shortest and longest character n-gram of a word, or none."
        ),
    ] = None
    stem: Annotated[
        str | None,
        typer.Option(
            "--stem", metavar="LANG", help="Stem words with the Snowball stemmer of this name, such as english."
        ),
    ] = None
    min_count: Annotated[
        int | None, typer.Option("--min-count", metavar="N", help="Ignore terms that occur in fewer texts.")
    ] = None
    field_weight: Annotated[
        list[str] | None,
        typer.Option(
            "--field-weight",
            metavar="NAME=W",
            help="How often an occurrence in a field counts, such as title=3; may be repeated.",
        ),
    ] = None
    passes: Annotated[
        int | None,
        typer.Option(
            "--passes",
            metavar="N",
            help="Number of passes over the training rows. "
            "Default: 3 for up to 1,000 labels, otherwise 2, or 1 for a million rows or more.",
        ),
    ] = None

    def params(self) -> dict[str, Any]:
        """Return the given parameters of a tagger, without `passes`."""
        given = {name: value for name, value in vars(self).items() if value is not None and name != "passes"}
        given["ranker_params"] = parse_pairs(given.pop("ranker_param", ()))
        if self.char_ngrams is not None:
            given["char_ngrams"] = parse_span(self.char_ngrams)
        if self.language == "none":
            given["language"] = None
        if given.pop("field_weight", None):
            given["field_weights"] = parse_weights(self.field_weight or ())
        return given


@dataclass(frozen=True)
class NamedSetting(Setting):
    """Parameters of a model that also learns the names of labels."""

    name_weight: Annotated[
        float | None,
        typer.Option(
            "--name-weight",
            metavar="W",
            help="Weight of a label's name as an example, relative to a text; 0 ignores names.",
        ),
    ] = None


def fit(
    ctx: typer.Context,
    inputs: InputsArgument,
    model: ModelOption = None,
    label_names: LabelNamesOption = None,
    hierarchy: HierarchyOption = None,
    replace_deprecated: ReplaceOption = False,
    holdout: HoldoutOption = None,
    max_memory: MaxMemoryOption = None,
    force: ForceOption = False,
    as_json: JsonOption = None,
    labels_are: LabelsAreOption = "either",
    no_examples: NoExamplesOption = False,
    *,
    setting: NamedSetting,
    reading: WeightedReading,
    embedding: Embedding,
    vectors: Vectors,
) -> None:
    """Train a model on files of texts and labels."""
    model = model_name(inputs) if model is None else model
    lock_target(ctx, model, force)
    limit_bytes = None if max_memory is None else parse_size(max_memory)
    from abound.cli.holdout import parse_holdout
    from abound.cli.inputs import Inputs
    from abound.cli.learning import learn_files, learn_stream

    rule = parse_holdout(holdout)
    documents = Inputs(inputs, reading, rule, vectors)
    if rule.file is not None and vectors.vectors is not None:
        raise ValueError("--vectors has no vectors for a file of held-out rows; use --holdout every:N or share:X")
    whole = replace(reading, limit=None, weight_field=None)
    apart = None if rule.file is None else Inputs([rule.file], whole, vectors=vectors)
    params, passes = setting.params(), setting.passes
    params["ranker_params"] |= {} if passes is None else {"passes": passes}
    if reading.fields is not None:
        params["fields"] = reading.fields
    params["embeddings"] = encoder = embedding.for_rows(documents, vectors)
    tagger = make_tagger(**params)
    max_bytes = None if limit_bytes is None else memory.model_budget(limit_bytes)
    names, relations = vocabulary_of(label_names, hierarchy, setting.language, documents)
    named = read_by_names([documents, *([] if apart is None else [apart])], names, labels_are)
    if replace_deprecated:
        replace_labels([documents] if apart is None else [documents, apart], relations)
    is_stream = STANDARD in inputs and passes is None  # it may not end, so it is learned row by row
    if is_stream:
        tagger.need_second_opinion(keeps_texts=not no_examples)
        note("rows from stdin are learned in one pass as they arrive; a file or --passes gives better rankings")
        stats = learn_stream(tagger, documents, max_bytes, names)
    else:
        stats = learn_files(tagger, documents, Path(model), max_bytes, names, keep_examples=not no_examples)
    n_skipped = documents.n_skipped
    if not stats.rows:
        raise ValueError(f"there is nothing to learn in {', '.join(inputs)}")
    if not tagger.n_rows:
        raise ValueError(f"all {stats.rows:,} rows of {', '.join(inputs)} have weight 0, so there is nothing to learn")
    documents.check_labels(needed=not tagger.n_labels)
    tagger.hierarchy = relations
    tagger.examples = () if no_examples else tagger.examples
    note_labels(named.resolved, ())
    note_deprecated(tagger)
    note_opinion(tagger, encoder, is_stream=is_stream)
    tagger.save(model)
    held_out = _held_out(tagger, documents, rule, apart)
    if held_out is not None:
        _keep_figures(tagger, model, held_out)
    report(tagger, stats, model, n_skipped, held_out, as_json)


def vocabulary_of(
    label_names: str | None, hierarchy: str | None, language: str | None, documents: "Inputs"
) -> tuple[dict[str, list[str]], "Hierarchy | None"]:
    """Read the names of labels, and how labels are related."""
    from abound import data
    from abound.hierarchy import Hierarchy, read_hierarchy

    names: dict[str, list[str]] = {}
    found = None
    if label_names is not None:
        vocabulary = names_of(label_names, language, documents)
        names = vocabulary.names
        if data.is_vocabulary(label_names) and hierarchy is None:
            found = Hierarchy.of(vocabulary.relations)
    if hierarchy is not None:
        found = read_hierarchy(hierarchy)
    if found is None or not len(found) or not found.has_relations:
        return names, None
    n_tops = len(found.top_concepts)
    note(f"hierarchy: {len(found):,} concepts, {n_tops:,} top concept{'' if n_tops == 1 else 's'}")
    if found.excluded.missing:
        note(f"{found.excluded.missing:,} relations to broader concepts that the vocabulary does not have were ignored")
    if found.excluded.cyclic:
        note(f"{found.excluded.cyclic:,} relations to broader concepts that form a cycle were ignored")
    return names, found


def read_by_names(inputs: Iterable["Inputs"], names: dict[str, list[str]], labels_are: str) -> FileLabels:
    """Read the labels of rows by their ids from now on, whether they are given by ids or by names."""
    from abound.tagger.naming import NameResolver

    how, resolver = check_option(labels_are), NameResolver(lambda: names)
    named = FileLabels(lambda label: resolver.resolve(label, how))
    for documents in inputs if names else ():
        documents.label_of = named
    return named


def names_of(path: str, language: str | None, documents: "Inputs") -> "Vocabulary":
    """Read the names of labels. From a SKOS vocabulary, take those in the language of the texts, and all relations."""
    from abound import data

    if not data.is_vocabulary(path):
        return data.Vocabulary(data.read_label_names(path), data.Relations())
    from abound.text.language import AUTO, detect
    from abound.texts import joined

    if language not in (None, AUTO):
        return data.read_vocabulary(path, None if language == "none" else language)
    likely = None if documents.is_stream else detect(joined(row.text) for row in islice(documents, SAMPLED)).language
    return data.read_vocabulary(path, likely_language=likely)


def note_deprecated(tagger: "Tagger") -> None:
    """Print how many learned labels are deprecated, and how many of them have a replacement."""
    replacements = {} if tagger.hierarchy is None else tagger.hierarchy.replacements
    labels = [label for label in replacements if label in tagger.ranker.labels_]
    if labels:
        n_replaced = sum(bool(replacements[label]) for label in labels)
        how = "; --replace-deprecated learns the replacements" if n_replaced else ""
        note(f"{len(labels):,} learned labels are deprecated, {n_replaced:,} of them with a replacement{how}")


def model_name(inputs: list[str]) -> str:
    """Return the default directory of a model: the name of the first input without its suffixes.

    Examples
    --------
    >>> model_name(["data/docs.tsv.xz"]), model_name(["titles"])
    ('docs', 'titles.model')
    """
    if "-" in inputs:
        raise ValueError("a model that is learned from stdin needs a directory; name it with --model DIR")
    name = Path(inputs[0]).name or Path(inputs[0]).absolute().name  # "." has no name
    return name.split(".")[0] if name.split(".")[0] not in ("", name) else f"{name}.model"


def make_tagger(*, ranker_params: dict[str, Any], **params: Any) -> "Tagger":
    """Build a tagger. Raise an error for a parameter that the ranker does not have."""
    from abound.rankers import ranker_class
    from abound.tagger import Tagger

    kind = params.get("ranker", inspect.signature(Tagger).parameters["ranker"].default)
    known = inspect.signature(ranker_class(kind)).parameters
    for name in ranker_params:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its parameters: {', '.join(known) or 'none'}"
            raise ValueError(f"ranker {kind!r} has no parameter {name!r}; {hint}")
    return Tagger(ranker_params=ranker_params, **params)


def parse_span(text: str) -> tuple[int, int] | None:
    """Parse a range such as 3-5. A single number is both ends, and "none" is no range."""
    if text == "none":
        return None
    low, dash, high = text.partition("-")
    try:
        return int(low), int(high if dash else low)
    except ValueError:
        raise ValueError(f"--char-ngrams must be LO-HI, such as 3-5, or none, got {text!r}") from None


def parse_weights(pairs: Iterable[str]) -> dict[str, float]:
    """Parse NAME=W pairs into the weights of fields.

    Examples
    --------
    >>> parse_weights(["title=3", "abstract=0.5"])
    {'title': 3.0, 'abstract': 0.5}
    """
    weights: dict[str, float] = {}
    for pair in pairs:
        name, _, weight = pair.rpartition("=")
        try:
            weights[name] = float(weight)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"--field-weight must be NAME=W, such as title=3, got {pair!r}")
    return weights


def parse_pairs(pairs: Iterable[str]) -> dict[str, Any]:
    """Parse NAME=VALUE pairs into a dict. A value that is not JSON is taken as a string."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--ranker-param must be NAME=VALUE, got {pair!r}")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values


def _held_out(tagger: "Tagger", documents: "Inputs", rule: "Holdout", apart: "Inputs | None") -> dict[str, Any] | None:
    """Measure the model on the held-out rows, if there are any."""
    if not rule.share and apart is None:
        return None
    from abound.cli.measures import HELD_OUT, NothingToMeasure, check_measures, evaluate_documents, figures_of
    from abound.cli.progress import Progress

    source = documents if apart is None else apart
    with Progress("measuring", source.share) as progress:
        rows = source.held_out() if apart is None else iter(source)
        try:
            evaluation = evaluate_documents(tagger, rows, check_measures(HELD_OUT, 1), progress.update)
            return figures_of(evaluation, HELD_OUT)
        except NothingToMeasure as error:  # the model is saved all the same
            note(f"{error}")
            return None


def _keep_figures(tagger: "Tagger", model: str, figures: dict[str, Any]) -> None:
    """Store the metrics on the held-out rows in a model that was saved."""
    from abound.store.directory import replace_content
    from abound.tagger.held_out import HeldOut

    tagger.held_out = HeldOut.of(figures, tagger.n_rows)
    replace_content(Path(model), {"kind": tagger.kind, **tagger.content()})


def report(
    tagger: "Tagger",
    stats: "LearnStats",
    model: str,
    n_skipped: int,
    held_out: dict[str, Any] | None,
    as_json: bool | None,
) -> None:
    """Print what was learned, and the metrics on the held-out rows."""
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
        shown["fields"] = ", ".join(f"{name} (weight {w:g})" for name, w in shown.get("fields", {}).items()) or None
        shown["language"] = shown["language"] or "none (whole words)"
    facts(model, [(name, shown[name]) for name in SHOWN if shown.get(name) is not None])
    if held_out is not None:
        measures_table(f"on {held_out['labelled']:,} held-out rows", held_out)
    note(f"saved to {model}; try: abound rank {model} 'a text'")


def show_defaults(options: Iterable[Any]) -> None:
    """Add the defaults of the tagger, its text encoder and its ranker to the help of the options."""
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
