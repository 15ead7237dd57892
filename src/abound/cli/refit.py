"""`abound refit`: train a served model again, and keep its corrections."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli import memory
from abound.cli.choosing import ReplaceOption, replace_labels
from abound.cli.common import JsonOption, emit, note, parse_size, wants_json
from abound.cli.fit import (
    HierarchyOption,
    InputsArgument,
    LabelNamesOption,
    MaxMemoryOption,
    NamedSetting,
    read_by_names,
    vocabulary_of,
)
from abound.cli.label_names import LabelsAreOption, note_labels
from abound.cli.reading import WeightedReading
from abound.cli.remote import SOURCE, KeyOption, ServerOption

if TYPE_CHECKING:
    from abound.cli.holdout import Holdout
    from abound.cli.inputs import Inputs
    from abound.hierarchy import Hierarchy
    from abound.server import Home
    from abound.server.served import ServedTagger
    from abound.store.journal.records import Learn
    from abound.tagger import Tagger

EPILOG = """\b
Example:
  abound refit subjects.served docs.jsonl --holdout new.jsonl
  abound refit subjects.served docs.jsonl --dry-run
  abound refit subjects.served docs.jsonl --server http://127.0.0.1:8000
"""
MEASURE = "nDCG@5"  # that must not become worse
ANSWER_SECONDS = 60.0  # longer than a server lets a request wait
SEEN = "the served model may have learned the held-out rows, so they do not decide; --holdout FILE names others"


def refit(
    home: Annotated[str, typer.Argument(metavar="HOME", help="The home directory of a served model.")],
    inputs: InputsArgument,
    label_names: LabelNamesOption = None,
    hierarchy: HierarchyOption = None,
    replace_deprecated: ReplaceOption = False,
    labels_are: LabelsAreOption = "either",
    holdout: Annotated[
        str,
        typer.Option(
            "--holdout", metavar="RULE", help="Rows to compare both models on: every:20, share:0.1, or a file."
        ),
    ] = "share:0.1",
    max_memory: MaxMemoryOption = None,
    max_loss: Annotated[
        float,
        typer.Option(
            "--max-loss",
            min=0.0,
            max=1.0,
            metavar="X",
            help=f"Refuse a model whose {MEASURE} is lower by more than this, or that loses a larger share of the "
            "corrections.",
        ),
    ] = 0.02,
    force: Annotated[bool, typer.Option("--force", help="Switch even to a model that is worse.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only compare the models.")] = False,
    as_json: JsonOption = None,
    server: ServerOption = None,
    key: KeyOption = None,
    *,
    setting: NamedSetting,
    reading: WeightedReading,
) -> None:
    """Train a served model again on files, replay its corrections, compare both models, and switch.

    Settings, names and hierarchy of the served model are kept unless others are given.
    """
    from abound.server import Home
    from abound.server.refitting import fitted_model, live_corrections, new_base, replay_on, save_base, shown

    opened, rule, documents, apart = Home(home), *_rows(inputs, holdout, reading)
    if not dry_run and server is None:
        _check_stopped(opened)
    fitted = fitted_model(opened)
    names, relations = dict(fitted.label_names), fitted.hierarchy
    if label_names is not None or hierarchy is not None:
        given, found = vocabulary_of(label_names, hierarchy, setting.language, documents)
        names, relations = given or names, found or relations
    read = [documents] if apart is None else [documents, apart]
    named = read_by_names(read, names, labels_are)
    if replace_deprecated:
        replace_labels(read, relations)
    limit = None if max_memory is None else memory.model_budget(parse_size(max_memory))
    with new_base(opened) as path:
        tagger = _new_tagger(fitted, setting, reading)
        opinion = fitted.second_opinion
        keeps = {"keep_examples": opinion is None or opinion.keeps_texts}
        stats = _train(tagger, documents, path, limit, names, relations, **keeps)
        tagger.examples = tagger.examples if fitted.examples else ()  # a model without examples stays so
        note_labels(named.resolved, ())
        save_base(tagger, path)
        del tagger, fitted
        served, refitted = _load(opened), replay_on(opened, path.name)
        taught = live_corrections(opened)
        _note_vectors(taught, refitted)
        before, after = shown(served, taught), shown(refitted, taught)
        figures = {
            "home": home,
            **stats,
            "measures": _compare(served, refitted, documents, apart),
            "corrections": _kept(before, after),
        }
        problems = _worse(figures, max_loss, is_fair=apart is not None)
        del served, refitted
        if apart is None and not dry_run:
            _learn_held_out(path, documents)
        sequence = None if dry_run or (problems and not force) else _switch(opened, path.name, server, key)
        where = home if server is None else f"--server {server}"
        undo = None if sequence is None else f"abound journal undo {where} {sequence}"
        _show({**figures, "switched": sequence is not None, "sequence": sequence, "undo": undo}, as_json)
    if rule.file is None:
        note(SEEN)
    if problems and not force and not dry_run:
        raise ValueError(f"the served model stays: {'; '.join(problems)}; --force switches anyway")


def _rows(inputs: list[str], holdout: str, reading: WeightedReading) -> "tuple[Holdout, Inputs, Inputs | None]":
    from abound.cli.holdout import parse_holdout
    from abound.cli.inputs import Inputs

    rule = parse_holdout(holdout)
    apart = None if rule.file is None else Inputs([rule.file], replace(reading, limit=None, weight_field=None))
    return rule, Inputs(inputs, reading, rule), apart


def _check_stopped(home: "Home") -> None:
    """Raise an error if a home is being served, before a long training."""
    with _in_use(home):
        from abound.store.journal import Journal

        Journal(home.journal_path, write=True, verify=False).close()


@contextlib.contextmanager
def _in_use(home: "Home") -> Iterator[None]:
    from abound.errors import JournalInUse

    try:
        yield
    except JournalInUse:
        raise ValueError(f"{home.path} is being served; give the server's address with --server URL") from None


def _load(home: "Home") -> "ServedTagger":
    from abound.server.served import open_state

    return open_state(home)


def _new_tagger(fitted: "Tagger", setting: NamedSetting, reading: WeightedReading) -> "Tagger":
    """Return an empty tagger with the parameters of a model, except those that are given."""
    from abound.tagger import Tagger
    from abound.tagger.settings import TEXT_PARAMS

    if str(fitted.settings.embeddings or "").startswith("given:"):
        raise ValueError("the vectors of this model were given with its texts; fit it again with --vectors")
    given, others = setting.params(), (*TEXT_PARAMS, "language", "name_weight", "embeddings")
    given |= given.pop("ranker_params")
    if setting.passes is not None:
        given["passes"] = setting.passes
    if reading.fields is not None:
        given["fields"] = reading.fields
    kept = fitted.settings.unusual()
    if "language" in given:  # it chooses how texts are split
        kept = {name: value for name, value in kept.items() if name not in TEXT_PARAMS}
    if given.get("ranker", fitted.ranker.kind) != fitted.ranker.kind:
        kept = {name: value for name, value in kept.items() if name in others}
    return Tagger(**{**kept, **given})


def _train(
    tagger: "Tagger",
    documents: "Inputs",
    folder: Path,
    max_bytes: int | None,
    names: dict[str, list[str]],
    relations: "Hierarchy | None",
    *,
    keep_examples: bool,
) -> dict[str, Any]:
    from abound.cli.learning import learn_files

    if documents.is_stream:
        raise ValueError("a model is not trained again from stdin; give files")
    stats = learn_files(tagger, documents, folder, max_bytes, names, keep_examples=keep_examples)
    if not tagger.n_rows:
        raise ValueError("there is nothing to learn in the files")
    documents.check_labels(needed=not tagger.n_labels)
    tagger.hierarchy = relations
    return {"base": folder.name, **stats.as_dict(), "skipped": documents.n_skipped, "labels": tagger.n_labels}


def _note_vectors(corrections: "list[Learn]", refitted: "ServedTagger") -> None:
    """Report the corrections whose vectors the new model cannot use."""
    from abound.server.vectors import known_code

    if refitted.has_encoder:
        missing = sum(known_code(one, refitted.encoder_name) is None for one in corrections)
        if missing:
            note(
                f"{missing:,} of {len(corrections):,} corrections have no vector of the encoder "
                f"{refitted.encoder_name}; the model learns them by their words only"
            )


def _compare(
    served: "ServedTagger", refitted: "ServedTagger", documents: "Inputs", apart: "Inputs | None"
) -> dict[str, Any]:
    """Measure both models on the held-out rows."""
    from abound.cli.measures import HELD_OUT, check_measures, evaluate_documents, figures_of

    found = {}
    for name, tagger in (("served", served), ("refitted", refitted)):
        rows = documents.held_out() if apart is None else iter(apart)
        found[name] = figures_of(evaluate_documents(tagger, rows, check_measures(HELD_OUT, 1)), HELD_OUT)
    return found


def _kept(before: list[bool], after: list[bool]) -> dict[str, Any]:
    """Return how many corrections the rankings of both models show."""
    both = sum(old and new for old, new in zip(before, after, strict=True))
    kept = both / sum(before) if any(before) else 1.0
    return {"total": len(before), "served": sum(before), "refitted": sum(after), "kept": kept}


def _learn_held_out(base: Path, documents: "Inputs") -> None:
    """Learn the held-out rows after the comparison, so that the new model lacks none."""
    from abound.cli.learning import learn_held_out
    from abound.server.refitting import save_base
    from abound.tagger import Tagger

    tagger = Tagger.load(base)
    learn_held_out(tagger, documents)
    save_base(tagger, base)


def _worse(figures: dict[str, Any], max_loss: float, *, is_fair: bool) -> list[str]:
    """Return why a refitted model is worse than allowed; rows that the served model may know do not count."""
    old, new = (figures["measures"][name]["measures"][MEASURE]["value"] for name in ("served", "refitted"))
    kept, problems = figures["corrections"]["kept"], []
    if is_fair and old - new > max_loss:
        problems.append(f"{MEASURE} on the held-out rows would fall from {old:.4f} to {new:.4f}")
    if 1.0 - kept > max_loss:
        problems.append(f"only {kept:.1%} of the corrections that it shows would still be shown")
    return problems


def _switch(home: "Home", base: str, server: str | None, key: str | None) -> int:
    """Replace the state of a home, on its server or in this process; return the sequence of the record."""
    if server is not None:
        from abound.client import Client

        with Client(server, key=key, source=SOURCE, timeout=ANSWER_SECONDS) as client:
            return client.refit(base).sequence
    from abound.server import Writer
    from abound.store.journal import Origin
    from abound.store.journal.records import Refit

    with _in_use(home), Writer(home, report=note) as writer:
        return writer.change(Refit(base), origin=Origin(source=SOURCE)).result().sequence


def _show(figures: dict[str, Any], as_json: bool | None) -> None:
    if wants_json(as_json):
        emit(figures)
        return
    from abound.cli.tables import facts, table

    both = [figures["measures"][name] for name in ("served", "refitted")]
    rows = [(name, *(f"{one['measures'][name]['value']:.4f}" for one in both)) for name in both[0]["measures"]]
    taught = figures["corrections"]
    rows.append((f"shown of {taught['total']:,} corrections", f"{taught['served']:,}", f"{taught['refitted']:,}"))
    table(f"{figures['home']} on {both[0]['labelled']:,} held-out rows", ("", "served", "refitted"), rows, " rr")
    names = ("base", "rows", "labels", "switched", "sequence")
    facts(figures["home"], [(name, str(figures[name])) for name in names if figures[name] is not None])
    if figures["undo"] is not None:
        note(f"the former model is restored by: {figures['undo']}")
