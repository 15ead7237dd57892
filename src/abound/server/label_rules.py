"""The rules of label edits: which are accepted, and what each changes.

Checking is strict: an edit that makes no sense is refused before it is written. Applying is total: a journal may be
replayed on a model with other labels, or without some of its records, and every edit must then still have an effect
that depends only on the state before it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from abound.errors import RefusedRecord
from abound.store.journal.records import (
    AddLabel,
    EditLabels,
    LabelEdit,
    MergeLabels,
    MoveLabel,
    NameLabel,
    RenameLabel,
    RetireLabel,
)
from abound.store.names import Name


class EditedLabels(ABC):
    """Labels with other names (aliases) and retired labels, as far as edits need to know them.

    The target of an alias is never an alias itself. Targets and retired labels are known labels.
    """

    @abstractmethod
    def knows(self, label: Name) -> bool:
        """Return whether a label is known; a part of a merged label is."""

    @abstractmethod
    def target_of(self, alias: Name) -> Name | None:
        """Return the label that an alias stands for, or None if the name is not an alias."""

    @abstractmethod
    def aliases_of(self, label: Name) -> Iterable[Name]:
        """Return the aliases of a label, in the order in which they were added."""

    @abstractmethod
    def is_retired(self, label: Name) -> bool:
        """Return whether a label is retired."""

    @abstractmethod
    def _add(self, label: Name) -> None: ...

    @abstractmethod
    def _rename(self, label: Name, to: Name) -> None: ...

    @abstractmethod
    def _set_target(self, alias: Name, target: Name | None) -> None: ...

    @abstractmethod
    def _set_retired(self, label: Name, retired: bool) -> None: ...

    def resolve(self, name: Name) -> Name:
        """Return the label that a name stands for."""
        target = self.target_of(name)
        return name if target is None else target

    # -- checking ------------------------------------------------------------------------------------

    def check_edit(self, edit: LabelEdit) -> None:
        """Raise RefusedRecord if an edit makes no sense in the current state."""
        if isinstance(edit, AddLabel):
            target = self.target_of(edit.label)
            if target is not None:
                raise RefusedRecord(f"{edit.label!r} is another name of label {target!r}")
            return
        if isinstance(edit, MoveLabel):
            if self.resolve(edit.label) in map(self.resolve, edit.broader):
                raise RefusedRecord(f"label {edit.label!r} cannot be broader than itself")
            return
        label = self._known(edit.label)
        if isinstance(edit, RenameLabel):
            target = self.target_of(edit.to)
            if (self.knows(edit.to) or target is not None) and target != label:
                raise RefusedRecord(f"label {edit.to!r} exists already; merge the two labels instead")
            if self.knows(edit.to):
                raise RefusedRecord(f"label {edit.to!r} was merged, or is already the label's name")
        elif isinstance(edit, MergeLabels) and self._known(edit.into) == label:
            raise RefusedRecord(f"labels {edit.label!r} and {edit.into!r} are already merged")

    def _known(self, name: Name) -> Name:
        label = self.resolve(name)
        if not self.knows(label):
            raise RefusedRecord(f"label {name!r} is not known")
        if self.is_retired(label):
            raise RefusedRecord(f"label {name!r} is retired; add it to use it again")
        return label

    # -- applying ------------------------------------------------------------------------------------

    def apply_edit(self, edit: LabelEdit) -> None:
        """Apply an edit, whatever the state is."""
        label = self.resolve(edit.label)
        if isinstance(edit, RenameLabel):
            self._apply_rename(label, edit.to)
        elif isinstance(edit, MergeLabels):
            self._merge(label, self.resolve(edit.into))
        elif isinstance(edit, AddLabel | NameLabel | RetireLabel):
            if not self.knows(label):
                self._add(label)
            if not isinstance(edit, NameLabel):
                self._set_retired(label, isinstance(edit, RetireLabel))

    def can_rename(self, label: Name, to: Name) -> bool:
        """Return whether a label can get another id; otherwise, renaming is merging, or only an alias."""
        return self.knows(label) and not self.knows(to) and self.target_of(to) in (None, label)

    def _apply_rename(self, label: Name, to: Name) -> None:
        if not self.can_rename(label, to):
            self._merge(label, self.resolve(to))
            return
        self._set_target(to, None)  # a label may get a former name again
        self._rename(label, to)
        if self.is_retired(label):
            self._set_retired(label, False)
            self._set_retired(to, True)
        self._point(label, to)

    def _merge(self, label: Name, into: Name) -> None:
        """Make a label an alias of another one; both need not be known."""
        if label == into:
            return
        if not self.knows(into):
            self._add(into)
        self._set_retired(label, False)
        self._point(label, into)

    def _point(self, label: Name, to: Name) -> None:
        for alias in list(self.aliases_of(label)):
            self._set_target(alias, to)
        self._set_target(label, to)


class Draft(EditedLabels):
    """The state after some edits, without changing the state that they are based on.

    Parameters
    ----------
    labels : EditedLabels
        The state before the edits.
    """

    def __init__(self, labels: EditedLabels) -> None:
        self._base = labels
        self._known_now: dict[Name, bool] = {}
        self._targets: dict[Name, Name | None] = {}
        self._aliases: dict[Name, dict[Name, None]] = {}
        self._retired_now: dict[Name, bool] = {}

    def knows(self, label: Name) -> bool:
        """Return whether a label is known."""
        known = self._known_now.get(label)
        return self._base.knows(label) if known is None else known

    def target_of(self, alias: Name) -> Name | None:
        """Return the label that an alias stands for, or None."""
        return self._targets[alias] if alias in self._targets else self._base.target_of(alias)

    def aliases_of(self, label: Name) -> Iterable[Name]:
        """Return the aliases of a label."""
        if label not in self._aliases:
            self._aliases[label] = dict.fromkeys(self._base.aliases_of(label))
        return self._aliases[label]

    def is_retired(self, label: Name) -> bool:
        """Return whether a label is retired."""
        retired = self._retired_now.get(label)
        return self._base.is_retired(label) if retired is None else retired

    def _add(self, label: Name) -> None:
        self._known_now[label] = True

    def _rename(self, label: Name, to: Name) -> None:
        self._known_now[label], self._known_now[to] = False, True

    def _set_target(self, alias: Name, target: Name | None) -> None:
        before = self.target_of(alias)
        for label in (before, target):
            if label is not None:
                self.aliases_of(label)
        if before is not None:
            self._aliases[before].pop(alias, None)
        self._targets[alias] = target
        if target is not None:
            self._aliases[target][alias] = None

    def _set_retired(self, label: Name, retired: bool) -> None:
        self._retired_now[label] = retired


def check_all(labels: EditedLabels, record: LabelEdit | EditLabels) -> None:
    """Raise RefusedRecord if an edit makes no sense after the edits before it; nothing is changed."""
    if not isinstance(record, EditLabels):
        labels.check_edit(record)
        return
    draft = Draft(labels)
    for number, edit in enumerate(record.edits, 1):
        try:
            draft.check_edit(edit)
        except RefusedRecord as error:
            raise RefusedRecord(f"edit {number} of {len(record.edits)}: {error}; nothing was changed") from None
        draft.apply_edit(edit)
