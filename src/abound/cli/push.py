"""`abound push`: upload a model to the Hugging Face Hub."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, note, show_size, wants_json

if TYPE_CHECKING:
    from abound.hub import Prepared

EPILOG = """\b
Example:
  abound push subjects library/subjects --license cc0-1.0
  abound push subjects library/subjects --private --revision 2030
  abound push subjects library/subjects --dry-run > card.md
  abound push subjects library/subjects --card card.md
"""

RepoArgument = Annotated[
    str, typer.Argument(metavar="REPO", help="A repository of the Hugging Face Hub, such as library/subjects.")
]


@dataclass(frozen=True)
class CardOptions:
    """What the model card states."""

    license_: Annotated[
        str | None,
        typer.Option("--license", metavar="ID", help="Licence of the model, such as cc0-1.0, in the model card."),
    ] = None
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="CODE", help="Language in the model card. Default: that of the model."),
    ] = None
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", metavar="REPO", help="A data set of the hub that was learned; may be repeated."),
    ] = None
    card: Annotated[
        Path | None,
        typer.Option("--card", metavar="FILE", help="A model card of your own, instead of the generated one."),
    ] = None


def push(
    model: ModelArgument,
    repo: RepoArgument,
    private: Annotated[bool, typer.Option("--private", help="Create a private repository.")] = False,
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="BRANCH", help="Push to this branch instead of main.")
    ] = None,
    with_examples: Annotated[
        bool,
        typer.Option("--with-examples", help="Upload the example texts of the training data, which are left out."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the model card and upload nothing.")] = False,
    as_json: JsonOption = None,
    *,
    options: CardOptions,
) -> None:
    """Upload a model to the Hugging Face Hub, with a model card, in one commit.

    The repository is created if it does not exist, and README.md is replaced. The token is that of huggingface_hub: the
    variable HF_TOKEN, or that of `hf auth login`.
    """
    hide_progress()
    from abound import hub
    from abound.model_card import CardDetails

    details = CardDetails(options.license_, options.language, tuple(options.dataset or ()))
    card = None if options.card is None else options.card.read_text(encoding="utf-8")
    with hub.prepare(model, repo, card=card, details=details, with_examples=with_examples) as prepared:
        note_content(model, prepared, private)
        if dry_run:
            typer.echo(prepared.card, nl=False)
            return
        pushed = hub.push(prepared, repo, private=private, revision=revision)
    if wants_json(as_json):
        emit({"model": model, **pushed._asdict(), "examples": prepared.examples, "left_out": prepared.left_out})
        return
    from abound.cli.tables import facts

    facts(pushed.repo, [("files", f"{pushed.files:,} ({show_size(pushed.bytes)})"), ("commit", pushed.commit)])
    note(f"pushed to {pushed.url}; try: abound pull {pushed.repo} MODEL --revision {pushed.commit[:12]}")


def hide_progress() -> None:
    """Switch off the progress bars of huggingface_hub unless stderr is a terminal, before it is imported."""
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def note_content(model: str, prepared: "Prepared", private: bool) -> None:
    """Print which parts of the training data are in a model that is pushed."""
    from abound.cli.homes import count_corrections, is_home

    if prepared.left_out:
        note(f"{prepared.left_out} example texts of the training data are left out; --with-examples uploads them")
    if prepared.examples:
        note(f"{prepared.examples} texts of the training data are part of the model, and can be read by its users")
    if is_home(model):
        from abound.server import Home

        number = count_corrections(Home(model))
        note(f"what was learned from {number:,} corrections is part of the model; their texts are not")
    if not private:
        note("the model contains words and short phrases of its training texts, and everybody can read a public one")
