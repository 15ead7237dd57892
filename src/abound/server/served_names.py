"""The names of labels for people, with those that they had before: shown names, and names that are only found."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.server.labels import LabelTable
from abound.store import decode_names, encode_names
from abound.store.directory import Source
from abound.store.journal.records import AddLabel, LabelEdit, NameLabel, RenameLabel
from abound.store.names import Name
from abound.tagger import Tagger
from abound.tagger.naming import LabelsAre, NameIndex, resolve_label


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
        self._index = NameIndex(lambda: {**tagger.label_names, **self.former}, self.own)

    def shown(self, label: Name) -> list[str]:
        """Return the names of a label that are shown, the preferred one first."""
        return self._tagger.label_names.get(str(label), [])

    def own(self, label: Name) -> list[str]:
        """Return the shown names of a label, then its former ones."""
        former = self.former.get(str(label))
        return self.shown(label) if former is None else [*self.shown(label), *former]

    def all_of(self, label: Name) -> list[str]:
        """Return everything that finds a label: its id, its names, and the ids and names of its aliases."""
        found = [str(label), *self.own(label)]
        for alias in self._labels.aliases_of(label):
            found += [str(alias), *self.own(alias)]
        return found

    # -- resolving -----------------------------------------------------------------------------------

    def resolve(self, given: Name, labels_are: LabelsAre = "either") -> Name:
        """Return the current label for an id, a former id or a name; ValueError if it is the name of several."""
        label = resolve_label(given, labels_are, knows=self._knows, find=self._find, names_of=self.shown)
        return self._labels.resolve(label)

    def _knows(self, label: Name) -> bool:
        labels = self._labels
        return label in labels.book or label in labels.aliases or str(label) in self._tagger.label_names

    def _find(self, name: str) -> list[Name]:
        labels = self._labels
        found = list(dict.fromkeys(labels.resolve(self._label_of(text)) for text in self._index.find(name)))
        return [label for label in found if label not in labels.retired] or found

    def _label_of(self, text: str) -> Name:
        """Return the label that is written as a text; names are kept by texts, and a label may be a number."""
        for parse in (str, int, float):
            try:
                label: Name = parse(text)
            except (ValueError, OverflowError):
                continue
            if label in self._labels.book or label in self._labels.aliases:
                return label
        return text

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
        self.former = {}
        for label, name in zip(labels, names, strict=True):
            self.former.setdefault(str(label), []).append(str(name))
