"""Options that choose ranked labels by the model's hierarchy."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import note

if TYPE_CHECKING:
    from abound.cli.inputs import Inputs
    from abound.hierarchy import Hierarchy
    from abound.tagger import Tagger

ReplaceOption = Annotated[
    bool,
    typer.Option(
        "--replace-deprecated", help="Replace labels that the vocabulary marks as deprecated by their replacements."
    ),
]
WHAT = "a label with all labels below it, =LABEL alone, a name, a scheme, or a file of labels; may be repeated."


@dataclass(frozen=True)
class Selecting:
    """Which labels are ranked."""

    only: Annotated[list[str] | None, typer.Option("--only", metavar="LABEL|SCHEME|FILE", help=f"Rank only {WHAT}")] = (
        None
    )
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="LABEL|SCHEME|FILE", help=f"Do not rank {WHAT}")
    ] = None

    def labels(self) -> dict[str, Any]:
        """Return the parameters `only` and `without` of a tagger; files are replaced by their labels."""
        return {
            name: list(_expanded(given))
            for name, given in (("only", self.only), ("without", self.without))
            if given is not None
        }

    def note_unknown(self, tagger: "Tagger") -> None:
        """Print how many labels of files the model does not know."""
        for path in (*(self.only or ()), *(self.without or ())):
            if os.path.isfile(path):
                from abound.data import read_labels

                labels = read_labels(path)
                n_unknown = sum(label not in tagger.ranker.labels_ for label in labels)
                if n_unknown:
                    note(f"{n_unknown:,} of {len(labels):,} labels of {path} are not known to the model")


@dataclass(frozen=True)
class Choosing(Selecting):
    """Which labels are ranked, whether a label may be ranked with one above it, and what is shown of the hierarchy."""

    keep_parents: Annotated[
        bool | None,
        typer.Option(
            "--keep-parents/--drop-parents",
            help="Whether a label may be printed with one above it in the hierarchy, or only the better of them. "
            "Default: kept, but dropped from labels to apply.",
        ),
    ] = None
    paths: Annotated[bool, typer.Option("--paths", help="Print the path from the top concept to each label.")] = False

    def params(self) -> dict[str, Any]:
        """Return the parameters of a tagger."""
        parents = {} if self.keep_parents is None else {"keep_parents": self.keep_parents}
        return {**self.labels(), **parents}


def _expanded(given: Iterable[str]) -> Iterable[str]:
    for item in given:
        if os.path.isfile(item):
            from abound.data import read_labels

            yield from (f"={label}" for label in read_labels(item))
        else:
            yield item


def replace_labels(inputs: Iterable["Inputs"], hierarchy: "Hierarchy | None") -> None:
    """Replace deprecated labels of rows that are read from now on."""
    if hierarchy is None:
        raise ValueError("--replace-deprecated needs a SKOS vocabulary; give `abound fit` one with --label-names")
    for documents in inputs:
        documents.replacements = {old: new for old, new in hierarchy.replacements.items() if new}
