"""Renamed, merged and retired labels, as a layer over the labels that a tagger has learned.

A merge is an alias. No edge has to be moved, so a merge takes effect immediately. The edges of both labels continue to
vote, and their votes are added.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel, RefusedRecord
from abound.rankers.labels import LabelIndex
from abound.store import decode_names, encode_names
from abound.store.directory import Source
from abound.store.journal.records import AddLabel, LabelEdit, MergeLabels, RenameLabel, RetireLabel
from abound.store.names import Name


class Merged(NamedTuple):
    """The merged labels that are shown, as arrays; the parts of each label are contiguous."""

    labels: list[Name]
    numbers: NDArray[np.int32]
    members: NDArray[np.int32]
    starts: NDArray[np.int64]  # offsets of the members of each label
    position_of: dict[int, int]  # of a member in `members`


class LabelTable:
    """Resolve names to labels, and tell which labels are not shown.

    Parameters
    ----------
    book : LabelIndex
        The tagger's labels; a merged label stays in it under its own name.
    """

    def __init__(self, book: LabelIndex) -> None:
        self.book = book
        self.aliases: dict[Name, Name] = {}  # the target is never an alias itself
        self.retired: set[Name] = set()
        self._members: dict[Name, list[Name]] = {}
        self._regroup()

    # -- queries -------------------------------------------------------------------------------------

    def resolve(self, name: Name) -> Name:
        """Return the label that a name stands for."""
        return self.aliases.get(name, name)

    def members(self, label: Name) -> list[Name]:
        """Return the tagger's labels whose votes count for a label, ordered by number."""
        return self._members.get(label) or [label]

    @property
    def groups(self) -> Mapping[Name, list[Name]]:
        """The merged labels with their parts."""
        return self._members

    @property
    def merged(self) -> Merged:
        """The labels of `groups` that are not retired, as arrays."""
        return self._merged

    @property
    def hidden(self) -> set[int]:
        """The numbers of labels that are not ranked separately: retired ones, and parts of a merged label."""
        return self._hidden

    @property
    def n_hidden(self) -> int:
        """How many of the tagger's labels are never shown under their own names."""
        return self._n_hidden

    def resolve_all(self, names: Iterable[Name]) -> list[Name]:
        """Return the labels that names stand for, each once, in order."""
        return list(dict.fromkeys(map(self.resolve, names)))

    # -- label edits ---------------------------------------------------------------------------------

    def check(self, record: LabelEdit) -> None:
        """Raise RefusedRecord if an edit cannot be applied."""
        if isinstance(record, AddLabel):
            if record.label in self.aliases:
                raise RefusedRecord(f"{record.label!r} is another name of label {self.aliases[record.label]!r}")
            return
        label = self._known(record.label)
        if isinstance(record, RenameLabel):
            taken = record.to in self.book or record.to in self.aliases
            if taken and self.aliases.get(record.to) != label:
                raise RefusedRecord(f"label {record.to!r} exists already; merge the two labels instead")
            if record.to in self.book:
                raise RefusedRecord(f"label {record.to!r} was merged, or is already the label's name")
        elif isinstance(record, MergeLabels) and self._known(record.into) == label:
            raise RefusedRecord(f"labels {record.label!r} and {record.into!r} are already merged")

    def _known(self, name: Name) -> Name:
        label = self.resolve(name)
        if label not in self.book:
            raise RefusedRecord(f"label {name!r} is not known")
        if label in self.retired:
            raise RefusedRecord(f"label {name!r} is retired; add it to use it again")
        return label

    def apply(self, record: LabelEdit) -> None:
        """Apply an edit that was checked."""
        if isinstance(record, AddLabel):
            self.book.add([record.label])
            self.retired.discard(record.label)
        elif isinstance(record, RenameLabel):
            self._rename(self.resolve(record.label), record.to)
        elif isinstance(record, MergeLabels):
            self._add_alias(self.resolve(record.label), self.resolve(record.into))
        elif isinstance(record, RetireLabel):
            self.retired.add(self.resolve(record.label))
        self._regroup()

    def _rename(self, label: Name, to: Name) -> None:
        self.aliases.pop(to, None)  # a label may get a former name again
        self.book.rename(label, to)
        self._add_alias(label, to)

    def _add_alias(self, label: Name, to: Name) -> None:
        for alias, target in self.aliases.items():
            if target == label:
                self.aliases[alias] = to
        self.aliases[label] = to

    def _regroup(self) -> None:
        groups: dict[Name, list[Name]] = {}
        for alias, label in self.aliases.items():
            if alias in self.book:
                groups.setdefault(label, [label]).append(alias)
        number_of = self.book.id_of
        self._members = {label: sorted(members, key=number_of) for label, members in groups.items()}
        shown = [label for label in self._members if label not in self.retired]
        lists = [[number_of(member) for member in self._members[label]] for label in shown]
        members = [number for numbers in lists for number in numbers]
        self._merged = Merged(
            shown,
            np.array([number_of(label) for label in shown], np.int32),
            np.array(members, np.int32),
            np.cumsum([0, *map(len, lists)], dtype=np.int64)[:-1],
            {number: position for position, number in enumerate(members)},
        )
        hidden_groups = (label for label in self._members if label in self.retired)
        self._hidden = {
            *members,
            *(number_of(member) for label in hidden_groups for member in self._members[label]),
            *(number_of(label) for label in self.retired if label in self.book),
        }
        self._n_hidden = sum(len(group) - 1 for group in self._members.values()) + len(self.retired)

    # -- persistence ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return the table in its canonical form, which does not depend on the order of edits."""
        aliases = sorted(self.aliases.items(), key=lambda pair: _order(pair[0]))
        arrays: dict[str, Source] = {}
        for key, names in (
            ("served_alias", [alias for alias, _ in aliases]),
            ("served_target", [target for _, target in aliases]),
            ("served_retired", sorted(self.retired, key=_order)),
        ):
            arrays[f"{key}_names"], arrays[f"{key}_offsets"] = encode_names(names)
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the table from `arrays`; a model that was never served has none."""
        if "served_alias_names" not in arrays:
            return
        aliases, targets, retired = (
            decode_names(arrays[f"{key}_names"], arrays[f"{key}_offsets"], unique=key != "served_target")
            for key in ("served_alias", "served_target", "served_retired")
        )
        if len(aliases) != len(targets):
            raise DamagedModel("the numbers of label aliases and of their targets differ")
        self.aliases, self.retired = dict(zip(aliases, targets, strict=True)), set(retired)
        for label in (*targets, *retired):
            if label not in self.book or label in self.aliases:
                raise DamagedModel(f"label {label!r}, the target of an alias or a retired label, is not known")
        self._regroup()


def _order(name: Name) -> bytes:
    return np.asarray(encode_names([name])[0]).tobytes()
