"""Renamed, merged and retired labels, as a layer over the labels that a tagger has learned.

A merge is an alias. No edge has to be moved, so a merge takes effect immediately. The edges of both labels continue to
vote, and their votes are added.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.rankers.labels import LabelIndex
from abound.server.label_rules import EditedLabels, check_all
from abound.store import decode_names, encode_names
from abound.store.directory import Source
from abound.store.journal.records import EditLabels, LabelEdit
from abound.store.names import Name


class Merged(NamedTuple):
    """The merged labels that are shown, as arrays; the parts of each label are contiguous."""

    labels: list[Name]
    numbers: NDArray[np.int32]
    members: NDArray[np.int32]
    starts: NDArray[np.int64]  # offsets of the members of each label
    position_of: dict[int, int]  # of a member in `members`


class LabelTable(EditedLabels):
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
        self._aliases_of: dict[Name, dict[Name, None]] = {}
        self._members: dict[Name, list[Name]] = {}
        self.regroup()

    # -- queries -------------------------------------------------------------------------------------

    def resolve(self, name: Name) -> Name:
        """Return the label that a name stands for."""
        return self.aliases.get(name, name)  # a fast path

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

    def check(self, record: LabelEdit | EditLabels) -> None:
        """Raise RefusedRecord if an edit cannot be applied."""
        check_all(self, record)

    def apply(self, edits: Sequence[LabelEdit]) -> None:
        """Apply edits in order; their effect on rankings is updated once."""
        for edit in edits:
            self.apply_edit(edit)
        self.regroup()

    def knows(self, label: Name) -> bool:
        """Return whether the tagger has a label."""
        return label in self.book

    def target_of(self, alias: Name) -> Name | None:
        """Return the label that an alias stands for, or None if the name is not an alias."""
        return self.aliases.get(alias)

    def aliases_of(self, label: Name) -> Sequence[Name]:
        """Return the other names of a label: its former ids, and the labels that were merged into it."""
        return tuple(self._aliases_of.get(label, ()))

    def is_retired(self, label: Name) -> bool:
        """Return whether a label is retired."""
        return label in self.retired

    def _add(self, label: Name) -> None:
        self.book.add([label])

    def _rename(self, label: Name, to: Name) -> None:
        self.book.rename(label, to)

    def _set_target(self, alias: Name, target: Name | None) -> None:
        before = self.aliases.pop(alias, None)
        if before is not None:
            del self._aliases_of[before][alias]
        if target is not None:
            self.aliases[alias] = target
            self._aliases_of.setdefault(target, {})[alias] = None

    def _set_retired(self, label: Name, retired: bool) -> None:
        if retired:
            self.retired.add(label)
        else:
            self.retired.discard(label)

    def regroup(self) -> None:
        """Update which labels are merged and hidden, after edits."""
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
        self._aliases_of = {}
        for alias, target in self.aliases.items():
            self._aliases_of.setdefault(target, {})[alias] = None
        for label in (*targets, *retired):
            if label not in self.book or label in self.aliases:
                raise DamagedModel(f"label {label!r}, the target of an alias or a retired label, is not known")
        self.regroup()


def _order(name: Name) -> bytes:
    return np.asarray(encode_names([name])[0]).tobytes()
