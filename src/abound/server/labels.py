"""Labels that were renamed, merged and retired, as a layer over the labels that a tagger has learnt.

A merge is an alias: from one record to the next, both labels are one, and no edge has to be moved for it, so that
nobody waits. What was learnt for either goes on to vote, and the votes are counted together.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel, RefusedRecord
from abound.rankers.labels import LabelBook
from abound.store import decode_names, encode_names
from abound.store.directory import Source
from abound.store.journal.records import AddLabel, LabelEdit, MergeLabels, RenameLabel, RetireLabel
from abound.store.names import Name


class Merged(NamedTuple):
    """The labels that are shown and merged of several, as arrays: parts of each lie side by side."""

    labels: list[Name]
    numbers: NDArray[np.int32]
    members: NDArray[np.int32]
    starts: NDArray[np.int64]  # where the members of each begin
    place_of: dict[int, int]  # of a member among all


class LabelTable:
    """Know which label a name means, and which labels are not shown.

    Parameters
    ----------
    book : LabelBook
        The labels that the tagger has; a merged label stays in it, under its own name.
    """

    def __init__(self, book: LabelBook) -> None:
        self.book = book
        self.aliases: dict[Name, Name] = {}  # always in one step to a label that is no alias
        self.retired: set[Name] = set()
        self._members: dict[Name, list[Name]] = {}
        self._regroup()

    # -- asking --------------------------------------------------------------------------------------

    def resolve(self, name: Name) -> Name:
        """Return the label that a name means now."""
        return self.aliases.get(name, name)

    def members(self, label: Name) -> list[Name]:
        """Return the labels of the tagger whose votes count for a label, by number."""
        return self._members.get(label) or [label]

    @property
    def groups(self) -> Mapping[Name, list[Name]]:
        """The labels that are merged of several."""
        return self._members

    @property
    def merged(self) -> Merged:
        """The labels of `groups` that are not retired, as a ranking needs them."""
        return self._merged

    @property
    def hidden(self) -> set[int]:
        """The numbers of labels that are not ranked by themselves: retired, or parts of a merged one."""
        return self._hidden

    @property
    def n_hidden(self) -> int:
        """How many of the tagger's labels are never shown under their own name."""
        return self._n_hidden

    def resolve_all(self, names: Iterable[Name]) -> list[Name]:
        """Return the labels that names mean, each once, in their order."""
        return list(dict.fromkeys(map(self.resolve, names)))

    # -- surgery -------------------------------------------------------------------------------------

    def check(self, record: LabelEdit) -> None:
        """Raise RefusedRecord if a change cannot be made."""
        if isinstance(record, AddLabel):
            if record.label in self.aliases:
                raise RefusedRecord(f"{record.label!r} is another name of label {self.aliases[record.label]!r}")
            return
        label = self._known(record.label)
        if isinstance(record, RenameLabel):
            taken = record.to in self.book or record.to in self.aliases
            if taken and self.aliases.get(record.to) != label:
                raise RefusedRecord(f"label {record.to!r} is known already; merge the two instead")
            if record.to in self.book:
                raise RefusedRecord(f"label {record.to!r} was merged or is the label's name already")
        elif isinstance(record, MergeLabels) and self._known(record.into) == label:
            raise RefusedRecord(f"labels {record.label!r} and {record.into!r} are one already")

    def _known(self, name: Name) -> Name:
        label = self.resolve(name)
        if label not in self.book:
            raise RefusedRecord(f"label {name!r} is not known")
        if label in self.retired:
            raise RefusedRecord(f"label {name!r} is retired; add it to use it again")
        return label

    def apply(self, record: LabelEdit) -> None:
        """Make a change that was checked."""
        if isinstance(record, AddLabel):
            self.book.add([record.label])
            self.retired.discard(record.label)
        elif isinstance(record, RenameLabel):
            self._rename(self.resolve(record.label), record.to)
        elif isinstance(record, MergeLabels):
            self._point(self.resolve(record.label), self.resolve(record.into))
        elif isinstance(record, RetireLabel):
            self.retired.add(self.resolve(record.label))
        self._regroup()

    def _rename(self, label: Name, to: Name) -> None:
        self.aliases.pop(to, None)  # a label may get a former name back
        self.book.rename(label, to)
        self._point(label, to)

    def _point(self, label: Name, to: Name) -> None:
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
        self._members = {label: sorted(found, key=number_of) for label, found in groups.items()}
        shown = [label for label in self._members if label not in self.retired]
        lists = [[number_of(member) for member in self._members[label]] for label in shown]
        members = [number for numbers in lists for number in numbers]
        self._merged = Merged(
            shown,
            np.array([number_of(label) for label in shown], np.int32),
            np.array(members, np.int32),
            np.cumsum([0, *map(len, lists)], dtype=np.int64)[:-1],
            {number: place for place, number in enumerate(members)},
        )
        hidden_groups = (label for label in self._members if label in self.retired)
        self._hidden = {
            *members,
            *(number_of(member) for label in hidden_groups for member in self._members[label]),
            *(number_of(label) for label in self.retired if label in self.book),
        }
        self._n_hidden = sum(len(found) - 1 for found in self._members.values()) + len(self.retired)

    # -- keeping -------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return the table in its canonical form, which the order of changes does not show in."""
        aliases = sorted(self.aliases.items(), key=lambda pair: _order(pair[0]))
        found: dict[str, Source] = {}
        for key, names in (
            ("served_alias", [alias for alias, _ in aliases]),
            ("served_target", [target for _, target in aliases]),
            ("served_retired", sorted(self.retired, key=_order)),
        ):
            found[f"{key}_names"], found[f"{key}_offsets"] = encode_names(names)
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `arrays` gave; a model that was never served has none."""
        if "served_alias_names" not in arrays:
            return
        aliases, targets, retired = (
            decode_names(arrays[f"{key}_names"], arrays[f"{key}_offsets"], unique=key != "served_target")
            for key in ("served_alias", "served_target", "served_retired")
        )
        if len(aliases) != len(targets):
            raise DamagedModel("the aliases of the labels do not fit their targets")
        self.aliases, self.retired = dict(zip(aliases, targets, strict=True)), set(retired)
        for label in (*targets, *retired):
            if label not in self.book or label in self.aliases:
                raise DamagedModel(f"label {label!r} of an alias or of the retired ones is not known")
        self._regroup()


def _order(name: Name) -> bytes:
    return np.asarray(encode_names([name])[0]).tobytes()
