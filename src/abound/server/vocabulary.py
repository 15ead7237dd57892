"""Update a served model to a new version of its vocabulary, as one record of label edits."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from abound.data import Relations, Vocabulary
from abound.hierarchy import Hierarchy
from abound.hierarchy.changes import Change, compare, places
from abound.server.replica import Replica
from abound.store.journal.records import (
    AddLabel,
    LabelEdit,
    MergeLabels,
    MoveLabel,
    NameLabel,
    RenameLabel,
    RetireLabel,
)


def vocabulary_of(replica: Replica) -> Vocabulary:
    """Return the vocabulary of a replica: the labels that are in its hierarchy or have names, as they are shown.

    Labels that people added without a name, merged labels and retired ones are left out.
    """
    labels, hierarchy = replica.labels, replica.tagger.hierarchy
    relations = Relations() if hierarchy is None else hierarchy.relations()
    concepts = {str(label) for label in relations.concepts}
    hidden = {str(label) for label in (*labels.aliases, *labels.retired)}
    names = {
        label: list(replica.names.shown(label))
        for label in sorted({*concepts, *replica.tagger.label_names})
        if label not in hidden and (hierarchy is None or label in concepts or replica.names.shown(label))
    }
    return Vocabulary(names, relations)


class Update:
    """The changes from a replica's vocabulary to a new version, and the label edits that make them.

    Parameters
    ----------
    replica : Replica
    new : Vocabulary
    keep_removed : bool
        Whether labels stay that the new version does not have, neither as a concept nor as a deprecated one.

    Attributes
    ----------
    changes : list of Change
    kept : list of str
        Concepts of the new version that people have merged or retired in the model, which stays as it is.
    """

    def __init__(self, replica: Replica, new: Vocabulary, *, keep_removed: bool = False) -> None:
        self._replica = replica
        self._new = new
        labels = replica.labels
        edited = {str(label) for label in (*labels.aliases, *labels.retired)}
        self.kept = sorted(label for label in new.names if label in edited)
        shown = {label: names for label, names in new.names.items() if label not in edited}
        # Relations that close a cycle are left out, as in the model.
        relations = dataclasses.replace(Hierarchy.of(new.relations).relations(), replaced=new.relations.replaced)
        found = compare(vocabulary_of(replica), Vocabulary(shown, relations))
        self.changes = [change for change in found if not (keep_removed and change.kind == "removed")]
        self._places = places(relations)

    def _of(self, *kinds: str) -> list[Change]:
        return [change for change in self.changes if change.kind in kinds]

    def _known(self, *kinds: str) -> list[Change]:
        """Return the changes of labels that the model has learned; others have nothing to keep."""
        return [change for change in self._of(*kinds) if self._replica.labels.knows(change.label)]

    def edits(self) -> tuple[LabelEdit, ...]:
        """Return the label edits, in an order in which each is valid after those before it."""
        labels = self._replica.labels
        renamed, merged, retired = [], [], self._known("split", "deprecated", "removed")
        for change in self._known("renamed", "merged"):
            [to] = change.to
            if change.kind == "renamed" and labels.can_rename(change.label, to):
                renamed.append(change)
            elif labels.is_retired(labels.resolve(to)):
                retired.append(change)  # people have retired what replaces it
            elif labels.resolve(to) != change.label:  # otherwise people have merged them the other way round
                merged.append(change)
        added = self._added({change.to[0] for change in renamed})
        return (
            *(RenameLabel(change.label, change.to[0]) for change in renamed),
            *(AddLabel(label, tuple(self._new.names.get(label, ()))) for label in added),
            *(NameLabel(change.label, change.after) for change in self._of("names") if change.label not in added),
            *self._split(),
            *(MergeLabels(change.label, change.to[0]) for change in merged),
            *(RetireLabel(change.label) for change in retired),
            *self._moved(added),
        )

    def _added(self, renamed: set[str]) -> dict[str, None]:
        """Return the labels to add: new concepts, and those that the model knows only by name."""
        labels = self._replica.labels
        wanted = [change.label for change in self._of("added", "names")]
        wanted += [to for change in self._of("renamed") for to in change.to]
        wanted += [to for change in self._known("merged", "split") for to in change.to]
        return {
            label: None
            for label in wanted
            if label not in renamed and not labels.knows(label) and labels.target_of(label) is None
        }

    def _split(self) -> Iterator[LabelEdit]:
        """Yield edits by which the names of a split label find its parts."""
        labels = self._replica.labels
        former: dict[str, list[str]] = {}
        for change in self._known("split"):
            for part in change.to:
                if not labels.is_retired(labels.resolve(part)):
                    former.setdefault(part, []).extend((change.label, *change.before))
        for part, names in former.items():
            shown = self._new.names.get(part, self._replica.names.shown(labels.resolve(part)))
            yield NameLabel(part, tuple(shown), tuple(dict.fromkeys(names)))

    def _moved(self, added: Iterable[str]) -> Iterator[LabelEdit]:
        if self._replica.tagger.hierarchy is None:
            return
        for label in dict.fromkeys([*added, *(change.label for change in self._of("moved"))]):
            broader, schemes = self._places.get(label, ([], []))
            yield MoveLabel(label, tuple(broader), tuple(schemes))

    def counts(self) -> dict[str, int]:
        """Return the number of changes by kind."""
        counted: dict[str, int] = {}
        for change in self.changes:
            counted[change.kind] = counted.get(change.kind, 0) + 1
        return counted


def as_request(edits: Sequence[LabelEdit]) -> list[dict[str, dict[str, object]]]:
    """Return label edits as a server takes them over HTTP."""
    return [_as_request(edit) for edit in edits]


def _as_request(edit: LabelEdit) -> dict[str, dict[str, object]]:
    match edit:
        case AddLabel():
            return {"add": {"label": edit.label, "names": edit.names}}
        case NameLabel():
            return {"name": {"label": edit.label, "names": edit.names, "former": edit.former or ()}}
        case RenameLabel():
            return {"rename": {"label": edit.label, "to": edit.to}}
        case MergeLabels():
            return {"merge": {"label": edit.label, "into": edit.into}}
        case RetireLabel():
            return {"retire": {"label": edit.label}}
        case MoveLabel():
            schemes = {} if edit.schemes is None else {"schemes": edit.schemes}
            return {"move": {"label": edit.label, "broader": edit.broader, **schemes}}
