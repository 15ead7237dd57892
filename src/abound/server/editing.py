"""Apply label edits to the parts of a replica: its labels, their names, and their hierarchy.

All edits of a record are applied together. Whatever costs time in proportion to the number of labels is done once.
"""

from collections.abc import Iterable, Sequence

from abound.hierarchy import Hierarchy
from abound.hierarchy.hierarchy import Place
from abound.server.labels import LabelTable
from abound.server.served_names import ServedNames
from abound.store.journal.records import LabelEdit, MergeLabels, MoveLabel, RenameLabel
from abound.store.names import Name
from abound.tagger import Tagger


def apply_edits(tagger: Tagger, labels: LabelTable, names: ServedNames, edits: Sequence[LabelEdit]) -> set[Name]:
    """Apply edits in order; return the labels that they are about, under old and new ids."""
    touched: set[Name] = set()
    learned: list[tuple[Name, str]] = []
    places: dict[Name, MoveLabel] = {}
    for edit in edits:
        label = labels.resolve(edit.label)
        touched |= {edit.label, label}
        learned += [(label, name) for name in names.apply(edit, label)]
        if isinstance(edit, RenameLabel):
            touched |= {edit.to, labels.resolve(edit.to)}
            if tagger.hierarchy is not None and labels.can_rename(label, edit.to):
                tagger.hierarchy.rename(label, edit.to)
        elif isinstance(edit, MergeLabels):
            touched |= {edit.into, labels.resolve(edit.into)}
        elif isinstance(edit, MoveLabel):
            places[edit.label] = edit
        labels.apply_edit(edit)
    labels.regroup()
    if places:
        _move(tagger, labels, places.values())
    else:
        tagger.links.forget()
    known = labels.book
    tagger.learn_name_pairs([(label if label in known else labels.resolve(label), name) for label, name in learned])
    return touched


def _move(tagger: Tagger, labels: LabelTable, moves: Iterable[MoveLabel]) -> None:
    hierarchy = tagger.hierarchy or Hierarchy.empty()

    def concept_of(label: Name) -> str:
        return str(label) if label in hierarchy else str(labels.resolve(label))

    tagger.hierarchy = hierarchy.moved(
        {concept_of(edit.label): Place([*map(concept_of, edit.broader)], edit.schemes) for edit in moves}
    )
