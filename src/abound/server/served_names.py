"""The names of labels for people, with those that they had before: shown names, and names that are only found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from numpy.typing import NDArray

from abound.errors import DamagedModel, RefusedRecord
from abound.server.labels import LabelTable
from abound.store import decode_names, encode_names
from abound.store.directory import Source
from abound.store.journal.records import AddLabel, BandFeedback, LabelEdit, Learn, NameLabel, Record, RenameLabel
from abound.store.names import Name
from abound.tagger import Tagger
from abound.tagger.naming import LabelsAre, NameIndex, check_labels_are, label_of, only_one, resolve_label


class Resolved(NamedTuple):
    """A record with the ids of its labels, and the labels that were given by their names."""

    record: Record
    labels: Mapping[str, Name] = MappingProxyType({})


class ServedNames:
    """All names of a tagger's labels.

    Parameters
    ----------
    tagger : Tagger
        Its `label_names` are the names that are shown.
    labels : LabelTable

    Attributes
    ----------
    former : dict
        Names by label that are found, but no longer shown.
    """

    def __init__(self, tagger: Tagger, labels: LabelTable) -> None:
        self._tagger = tagger
        self._labels = labels
        self.former: dict[str, list[str]] = {}
        # Without a reference to this object, so that a closed model is freed at once.
        self._index = NameIndex(partial(_named, tagger, self.former), partial(_own, tagger, self.former))

    def shown(self, label: Name) -> list[str]:
        """Return the names of a label that are shown, the preferred one first."""
        return self._tagger.label_names.get(str(label), [])

    def own(self, label: Name) -> list[str]:
        """Return the shown names of a label, then its former ones."""
        return _own(self._tagger, self.former, label)

    def all_of(self, label: Name) -> list[str]:
        """Return everything that finds a label: its id, its names, and the ids and names of its aliases."""
        found = [str(label), *self.own(label)]
        for alias in self._labels.aliases_of(label):
            found += [str(alias), *self.own(alias)]
        return found

    def hidden(self, label: Name) -> list[str]:
        """Return the names that find a label but are not shown: former ones, and those (or the ids) of its aliases."""
        found = self.own(label)
        for alias in self._labels.aliases_of(label):
            found = [*found, *(self.own(alias) or [str(alias)])]
        return [name for name in dict.fromkeys(found) if name not in self.shown(label)]

    # -- resolving -----------------------------------------------------------------------------------

    def resolve(self, given: Name, labels_are: LabelsAre = "either") -> Name:
        """Return the current label for an id, a former id or a name; ValueError if it is the name of several."""
        return self._labels.resolve(self.id_of(given, labels_are))

    def id_of(self, given: Name, labels_are: LabelsAre = "either") -> Name:
        """Return the label that has a name, or the given id, which may be a former one."""
        return resolve_label(given, labels_are, knows=self._knows, find=self.find, names_of=self.shown)

    def resolve_record(self, record: Record) -> Resolved:
        """Replace the names of labels in a record by their ids; RefusedRecord if one belongs to several labels."""
        if not isinstance(record, Learn | BandFeedback):
            return Resolved(record)
        labels_are = check_labels_are(getattr(record, "labels_are", None) or "either")
        resolved: dict[str, Name] = {}

        def ids_of(labels: Iterable[Name]) -> tuple[Name, ...]:
            found = []
            for given in labels:
                found.append(self.id_of(given, labels_are))
                if found[-1] != given:
                    resolved[str(given)] = found[-1]
            return tuple(dict.fromkeys(found)) if resolved else tuple(found)

        try:
            if isinstance(record, BandFeedback):
                changed: Record = replace(record, label=ids_of([record.label])[0])
            else:
                lists = ids_of(record.accepted), ids_of(record.rejected), ids_of(record.added)
                accepted, rejected, added = lists
                changed = replace(record, accepted=accepted, rejected=rejected, added=added, labels_are=None)
        except ValueError as error:
            raise RefusedRecord(str(error)) from None
        return Resolved(changed, resolved) if changed != record else Resolved(record)

    def _knows(self, label: Name) -> bool:
        labels = self._labels
        return label in labels.book or label in labels.aliases or str(label) in self._tagger.label_names

    def find(self, name: str) -> list[Name]:
        """Return the labels with a name; a retired one only if there is no other."""
        found = self._index.find(name, self._is_used) or self._index.find(name)
        return list(dict.fromkeys(map(self._current, found)))

    def _current(self, text: str) -> Name:
        return self._labels.resolve(self._label_of(text))

    def _is_used(self, text: str) -> bool:
        return self._current(text) not in self._labels.retired

    def one(self, name: str) -> str | None:
        """Return the label with a name, or None; ValueError if there are several."""
        label = only_one(name, self.find(name), self.shown)
        return None if label is None else str(label)

    def _label_of(self, text: str) -> Name:
        return label_of(text, lambda label: label in self._labels.book or label in self._labels.aliases)

    # -- editing -------------------------------------------------------------------------------------

    def apply(self, edit: LabelEdit, label: Name) -> list[str]:
        """Apply an edit to the names, before the labels; return those to learn as examples of the label.

        Parameters
        ----------
        edit : LabelEdit
        label : name
            The label that it is about.
        """
        key, names = str(label), self._tagger.label_names
        if isinstance(edit, AddLabel) and edit.names:
            names[key] = list(edit.names)
            self._index.update([key])
            return names[key]
        if isinstance(edit, NameLabel):
            known = self.own(label)
            shown = list(dict.fromkeys(edit.names))
            former = [name for name in dict.fromkeys([*known, *(edit.former or ())]) if name not in shown]
            self._set(key, shown, former)
            return [name for name in shown if name not in known]
        if isinstance(edit, RenameLabel) and self._labels.can_rename(label, edit.to):
            for of in (names, self.former):
                if key in of:
                    of[str(edit.to)] = of.pop(key)
            self._index.update([str(edit.to)])
        return []

    def add_former(self, former: Mapping[str, Sequence[str]]) -> None:
        """Add names by label that are found, but not shown."""
        for label, names in former.items():
            known = self.own(label)
            fresh = [name for name in names if name not in known]
            if fresh:
                self.former.setdefault(label, []).extend(fresh)
        self._index.update(former)

    def _set(self, key: str, shown: list[str], former: list[str]) -> None:
        for names, given in ((self._tagger.label_names, shown), (self.former, former)):
            if given:
                names[key] = given
            else:
                names.pop(key, None)
        self._index.update([key])

    # -- persistence ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return the former names as arrays; none if there are none."""
        if not self.former:
            return {}
        pairs = [(label, name) for label, names in sorted(self.former.items()) for name in names]
        arrays: dict[str, Source] = {}
        for at, key in enumerate(("served_former_label", "served_former")):
            arrays[f"{key}_names"], arrays[f"{key}_offsets"] = encode_names(pair[at] for pair in pairs)
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the former names from `arrays`."""
        if "served_former_names" not in arrays:
            return
        labels, names = (
            decode_names(arrays[f"{key}_names"], arrays[f"{key}_offsets"], unique=False)
            for key in ("served_former_label", "served_former")
        )
        if len(labels) != len(names):
            raise DamagedModel("the numbers of labels with former names and of these names differ")
        self.former.clear()
        for label, name in zip(labels, names, strict=True):
            self.former.setdefault(str(label), []).append(str(name))


def _own(tagger: Tagger, former: Mapping[str, list[str]], label: Name) -> list[str]:
    shown = tagger.label_names.get(str(label), [])
    return [*shown, *former[str(label)]] if str(label) in former else shown


def _named(tagger: Tagger, former: Mapping[str, list[str]]) -> Iterable[str]:
    return {**tagger.label_names, **former}
