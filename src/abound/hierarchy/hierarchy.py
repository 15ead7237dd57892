"""The relations of labels: broader labels, schemes, related labels and replacements, in flat arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.hierarchy.lists import Lists, break_cycles
from abound.hierarchy.names import NameLists

# The readers take long to import, and a tagger needs them only to build a hierarchy.
if TYPE_CHECKING:
    from abound.data import Relations

CACHED = 1 << 16  # concepts whose ancestors are kept in memory
NAMES = ("concept", "scheme", "scheme_title", "match", "deprecated", "replacement")
LISTS = {"parent": "concept", "related": "concept", "scheme_of": "scheme", "matched": "match"}  # what they contain


class Excluded(NamedTuple):
    """Relations that were left out: to concepts that the vocabulary does not have, and those that close a cycle."""

    missing: int = 0
    cyclic: int = 0


NONE_EXCLUDED = Excluded()


class Place(NamedTuple):
    """Where a concept is: its broader concepts, and its schemes if they change, too."""

    broader: Sequence[str]
    schemes: Sequence[str] | None = None


class Hierarchy:
    """How labels are related.

    A concept is a label of the vocabulary, whether or not a model has learned it. Concepts have numbers in the order of
    their names. A concept may have several parents. Relations that would close a cycle are left out.

    Parameters
    ----------
    names : NameLists
        The names of concepts, schemes, equal concepts and deprecated labels. Use `read_hierarchy`,
        `Hierarchy.from_pairs` or `Hierarchy.of`.
    lists : mapping from kind to Lists
        Parents, related concepts, schemes and equal concepts of each concept.
    tops : ndarray of int32
        The numbers of the declared top concepts.

    Attributes
    ----------
    excluded : Excluded
        The number of relations that were left out. It is not saved.

    Examples
    --------
    >>> from abound.hierarchy import Hierarchy
    >>> animals = Hierarchy.from_pairs([("cats", "mammals"), ("dogs", "mammals"), ("mammals", "animals")])
    >>> animals.path("cats")
    ['animals', 'mammals', 'cats']
    >>> sorted(animals.below("mammals"))
    ['cats', 'dogs', 'mammals']
    """

    def __init__(
        self, names: NameLists, lists: Mapping[str, Lists], tops: NDArray[np.int32], excluded: Excluded = NONE_EXCLUDED
    ) -> None:
        self.excluded = excluded
        self._names = names
        self._lists = lists
        self._tops = tops
        self._numbers: dict[str, int] | None = None
        self._children: Lists | None = None
        self._top_set: frozenset[int] | None = None
        self._above: dict[int, Mapping[int, int]] = {}
        self._scheme_numbers: dict[str, int] | None = None
        self._match_numbers: dict[str, int | None] | None = None

    @classmethod
    def of(cls, relations: "Relations") -> Self:
        """Build a hierarchy from relations that were read from a file."""
        names = sorted({*relations.concepts} or {name for pair in relations.broader for name in pair})
        schemes = sorted({scheme for _, scheme in (*relations.schemes, *relations.tops)})
        matches = sorted({other for _, other in relations.matches})
        numbers, scheme_numbers, match_numbers = (
            {name: number for number, name in enumerate(found)} for found in (names, schemes, matches)
        )
        known, n = _numbered(relations.broader, numbers, numbers), len(names)
        parents, n_cyclic = break_cycles(Lists.of(known, n))
        replaced = sorted(_single(relations.replaced).items())
        texts = {
            "concept": names,
            "scheme": schemes,
            "scheme_title": [relations.scheme_names.get(scheme, scheme) for scheme in schemes],
            "match": matches,
            "deprecated": [old for old, _ in replaced],
            "replacement": [new for _, new in replaced],
        }
        in_scheme = _numbered((*relations.schemes, *relations.tops), numbers, scheme_numbers)
        lists = {
            "parent": parents,
            "related": Lists.of(_numbered(relations.related, numbers, numbers), n),
            "scheme_of": Lists.of(in_scheme, n),
            "matched": Lists.of(_numbered(relations.matches, numbers, match_numbers), n),
        }
        tops = np.array(sorted({numbers[name] for name, _ in relations.tops if name in numbers}), np.int32)
        return cls(NameLists(texts), lists, tops, Excluded(len(relations.broader) - len(known), n_cyclic))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Build a hierarchy from pairs of child and parent."""
        from abound.data import Relations

        return cls.of(Relations(broader=[(str(child), str(parent)) for child, parent in pairs]))

    @classmethod
    def empty(cls) -> Self:
        """Return a hierarchy without concepts."""
        return cls(NameLists(dict.fromkeys(NAMES, ())), dict.fromkeys(LISTS, Lists.of((), 0)), np.zeros(0, np.int32))

    # -- concepts ------------------------------------------------------------------------------------

    @property
    def concepts(self) -> Sequence[str]:
        """The concepts by number."""
        return self._names["concept"]

    @property
    def schemes(self) -> Sequence[str]:
        """The concept schemes by number."""
        return self._names["scheme"]

    def __len__(self) -> int:
        return len(self._lists["parent"].indptr) - 1

    def __contains__(self, label: Any) -> bool:
        return self.number_of(label) is not None

    def number_of(self, label: Any) -> int | None:
        """Return the number of a concept, or None if the vocabulary does not have it."""
        if self._numbers is None:
            self._numbers = {name: number for number, name in enumerate(self.concepts)}
        return self._numbers.get(str(label))

    def _known(self, label: Any) -> int:
        number = self.number_of(label)
        if number is None:
            raise ValueError(f"the hierarchy has no concept {label!r}")
        return number

    @property
    def top_concepts(self) -> list[str]:
        """The concepts that are declared as top concepts or, if there are none, those that only have narrower ones."""
        return [self.concepts[number] for number in sorted(self._tops_of())]

    def _tops_of(self) -> frozenset[int]:
        if self._top_set is None:
            if len(self._tops):
                self._top_set = frozenset(self._tops.tolist())
            else:
                has_parent = np.diff(self._lists["parent"].indptr) > 0
                has_child = np.diff(self.children.indptr) > 0
                self._top_set = frozenset(np.flatnonzero(~has_parent & has_child).tolist())
        return self._top_set

    @property
    def has_relations(self) -> bool:
        """Whether it says more than which concepts there are."""
        return any(len(lists.numbers) for lists in self._lists.values()) or bool(self._names.size("deprecated"))

    @property
    def only_root(self) -> int | None:
        """The number of the concept above all others, or None if there is not just one."""
        has_parent, has_child = np.diff(self._lists["parent"].indptr) > 0, np.diff(self.children.indptr) > 0
        roots = np.flatnonzero(~has_parent & has_child)
        return int(roots[0]) if len(roots) == 1 else None

    # -- relations -----------------------------------------------------------------------------------

    @property
    def children(self) -> Lists:
        """The numbers of the narrower concepts of each concept."""
        if self._children is None:
            self._children = self._lists["parent"].reversed(len(self))
        return self._children

    def parents(self, label: Any) -> list[str]:
        """Return the broader concepts of a concept; none for an unknown label."""
        return self._related("parent", label)

    def related(self, label: Any) -> list[str]:
        """Return the related concepts of a concept; none for an unknown label."""
        return self._related("related", label)

    def _related(self, kind: str, label: Any) -> list[str]:
        number = self.number_of(label)
        return [] if number is None else [self.concepts[other] for other in self._lists[kind].row(number)]

    def matches(self, label: Any) -> list[str]:
        """Return the equal concepts (exactMatch) of a concept, often of other vocabularies."""
        number = self.number_of(label)
        return [] if number is None else [self._names["match"][other] for other in self._lists["matched"].row(number)]

    def schemes_of(self, label: Any) -> list[str]:
        """Return the schemes that contain a concept."""
        number = self.number_of(label)
        return [] if number is None else [self.schemes[scheme] for scheme in self._lists["scheme_of"].row(number)]

    def ancestors(self, number: int) -> Mapping[int, int]:
        """Return the numbers of all concepts above a concept, with their distances: 1 for a parent."""
        known = self._above.get(number)
        if known is not None:
            return known
        if len(self._above) >= CACHED:
            self._above.clear()
        parents, distance = self._lists["parent"], 0
        found: dict[int, int] = {}
        level = [number]
        while level:
            distance += 1
            level = [parent for item in level for parent in parents.row(item)]
            level = [parent for parent in dict.fromkeys(level) if parent not in found and parent != number]
            found.update(dict.fromkeys(level, distance))
        self._above[number] = found
        return found

    def ancestors_of(self, label: Any) -> list[str]:
        """Return all concepts above a concept, the nearest first; none for an unknown label."""
        number = self.number_of(label)
        return [] if number is None else [self.concepts[above] for above in self.ancestors(number)]

    def path(self, label: Any) -> list[str]:
        """Return the shortest path from a top concept to a concept, both included; empty for an unknown label.

        Of several shortest paths, it is the one through the first parents.
        """
        number = self.number_of(label)
        if number is None:
            return []
        tops, parents = self._tops_of(), self._lists["parent"]
        came_from: dict[int, int | None] = {number: None}
        level, end = [number], number
        while level:
            last = next((item for item in level if item in tops or not parents.row(item)), None)
            if last is not None:
                end = last
                break
            pairs = [(parent, item) for item in level for parent in parents.row(item) if parent not in came_from]
            level = list(dict.fromkeys(parent for parent, _ in pairs))
            for parent, item in pairs:
                came_from.setdefault(parent, item)
        path, at = [], end
        while at is not None:
            path.append(self.concepts[at])
            at = came_from[at]  # type: ignore[assignment]  # the path ends with None
        return path

    def below(self, label: Any) -> list[str]:
        """Return a concept and all concepts below it."""
        return [self.concepts[number] for number in np.flatnonzero(self.branches([self._known(label)])).tolist()]

    def branches(self, numbers: Iterable[int]) -> NDArray[np.bool_]:
        """Return which concepts are among some concepts or below them, by number."""
        chosen = np.zeros(len(self), bool)
        level = np.array(sorted(set(numbers)), np.int64)
        while len(level):
            chosen[level] = True
            below = np.unique(self.children.all_of(level)).astype(np.int64)
            level = below[~chosen[below]]
        return chosen

    def scheme_number(self, scheme: str) -> int | None:
        """Return the number of a scheme by its URI or its name, or None."""
        if self._scheme_numbers is None:
            titles = zip(self._names["scheme_title"], range(len(self.schemes)), strict=True)
            self._scheme_numbers = {**dict(titles), **{name: number for number, name in enumerate(self.schemes)}}
        return self._scheme_numbers.get(scheme)

    def in_schemes(self, schemes: Iterable[int]) -> NDArray[np.bool_]:
        """Return which concepts are in one of some schemes, by number."""
        lists, chosen = self._lists["scheme_of"], np.zeros(len(self), bool)
        chosen[lists.owners[np.isin(lists.numbers, list(schemes))]] = True
        return chosen

    def matching(self, name: str) -> int | None:
        """Return the number of the concept that is equal (exactMatch) to another vocabulary's; None if not just one."""
        if self._match_numbers is None:
            self._match_numbers = {}
            lists, names = self._lists["matched"], self._names["match"]
            for concept, other in zip(lists.owners.tolist(), lists.numbers.tolist(), strict=True):
                self._match_numbers[names[other]] = None if names[other] in self._match_numbers else concept
        return self._match_numbers.get(name)

    # -- deprecated labels ---------------------------------------------------------------------------

    @property
    def replacements(self) -> dict[str, str]:
        """The deprecated labels, each with its replacement, or with "" if it has none or several."""
        return dict(zip(self._names["deprecated"], self._names["replacement"], strict=True))

    # -- changing ------------------------------------------------------------------------------------

    def rename(self, old: Any, new: Any) -> None:
        """Give a concept another name, as a label was renamed; nothing changes if either is not, or already, known."""
        number = self.number_of(old)
        if number is None or self.number_of(new) is not None:
            return
        assert self._numbers is not None
        del self._numbers[str(old)]
        self._names["concept"][number] = str(new)
        self._numbers[str(new)] = number

    def moved(self, places: Mapping[str, "Place"]) -> "Hierarchy":
        """Return a hierarchy in which some concepts have other broader concepts or schemes; new concepts are added.

        Relations that close a cycle are left out.
        """
        from abound.data import Relations

        now = self.relations()
        in_schemes = {label for label, place in places.items() if place.schemes is not None}
        broader = [pair for pair in now.broader if pair[0] not in places]
        schemes = [pair for pair in now.schemes if pair[0] not in in_schemes]
        for label, place in places.items():
            broader += [(label, parent) for parent in place.broader]
            schemes += [(label, scheme) for scheme in place.schemes or ()]
        kept = {pair for pair in schemes if pair[0] not in places or not places[pair[0]].broader}
        return type(self).of(
            Relations(
                concepts=sorted({*now.concepts, *places, *(parent for _, parent in broader)}),
                broader=broader,
                related=now.related,
                matches=now.matches,
                schemes=schemes,
                tops=[pair for pair in now.tops if pair in kept],
                scheme_names=now.scheme_names,
                replaced=[pair for pair in now.replaced if pair[0] not in places],
            )
        )

    # -- merging -------------------------------------------------------------------------------------

    @classmethod
    def merged(cls, hierarchies: Sequence["Hierarchy"]) -> Self:
        """Return one hierarchy with the relations of several."""
        from abound.data import Relations

        parts = [hierarchy.relations() for hierarchy in hierarchies]
        names: dict[str, str] = {}
        for part in parts:
            names |= {scheme: name for scheme, name in part.scheme_names.items() if scheme not in names}
        concepts = {concept for part in parts for concept in part.concepts}
        return cls.of(
            Relations(
                concepts=sorted(concepts),
                broader=[pair for part in parts for pair in part.broader],
                related=[pair for part in parts for pair in part.related],
                matches=[pair for part in parts for pair in part.matches],
                schemes=[pair for part in parts for pair in part.schemes],
                tops=[pair for part in parts for pair in part.tops],
                scheme_names=names,
                replaced=[pair for part in parts for pair in part.replaced if pair[0] not in concepts],
            )
        )

    def relations(self) -> "Relations":
        """Return all relations as pairs of names; a top concept of one scheme counts as one of all its schemes."""
        from abound.data import Relations

        concepts, schemes = self.concepts, self.schemes

        def pairs(kind: str, others: Sequence[str]) -> list[tuple[str, str]]:
            lists = self._lists[kind]
            numbers = zip(lists.owners.tolist(), lists.numbers.tolist(), strict=True)
            return [(concepts[one], others[other]) for one, other in numbers]

        in_scheme = pairs("scheme_of", schemes)
        tops = {concepts[number] for number in self._tops.tolist()}
        return Relations(
            concepts=concepts,
            broader=pairs("parent", concepts),
            related=pairs("related", concepts),
            matches=pairs("matched", self._names["match"]),
            schemes=in_scheme,
            tops=[pair for pair in in_scheme if pair[0] in tops],
            scheme_names=dict(zip(schemes, self._names["scheme_title"], strict=True)),
            replaced=list(self.replacements.items()),
        )

    # -- persistence ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the hierarchy as arrays, by name."""
        arrays: dict[str, NDArray[Any]] = {"tops": self._tops, **self._names.arrays(NAMES)}
        for kind in LISTS:
            arrays[f"{kind}_indptr"], arrays[f"{kind}_numbers"] = self._lists[kind]
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build a hierarchy from `arrays`; raise an error if they do not fit together."""
        names = NameLists({}).restore(arrays, NAMES)
        n = names.size("concept")
        lists = {kind: Lists(arrays[f"{kind}_indptr"], arrays[f"{kind}_numbers"]) for kind in LISTS}
        for kind, numbered in LISTS.items():
            lists[kind].check(n, names.size(numbered), f"lists of kind {kind!r}")
        tops = arrays["tops"]
        if tops.dtype != np.int32 or tops.ndim != 1 or np.any(tops < 0) or np.any(tops >= n):
            raise ValueError("the top concepts of the hierarchy do not match its concepts")
        for one, other in (("scheme", "scheme_title"), ("deprecated", "replacement")):
            if names.size(one) != names.size(other):
                raise ValueError("the schemes or the deprecated labels of the hierarchy do not match their names")
        return cls(names, lists, tops)


def _numbered(
    pairs: Iterable[tuple[str, str]], first: Mapping[str, int], second: Mapping[str, int]
) -> list[tuple[int, int]]:
    """Return pairs of names as pairs of numbers; those with an unknown name are left out."""
    return [(first[one], second[other]) for one, other in pairs if one in first and other in second]


def _single(replaced: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the replacement of each deprecated label after following chains; "" if it has none or several."""
    options: dict[str, set[str]] = {}
    for old, new in replaced:
        options.setdefault(old, set()).update({new} - {""})
    found = {}
    for old in options:
        seen, at = {old}, old
        while at in options and len(options[at]) == 1:
            [at] = options[at]
            if at in seen:
                break
            seen.add(at)
        found[old] = "" if at in options else at
    return found
