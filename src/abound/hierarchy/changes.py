"""Compare versions of a vocabulary: concepts that are new, renamed, merged, split, gone, moved or named otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from abound.data import Relations, Vocabulary

KINDS = ("added", "renamed", "merged", "split", "deprecated", "removed", "moved", "names")


@dataclass(frozen=True)
class Change:
    """One change of a vocabulary.

    Attributes
    ----------
    kind : str
        "added", "renamed" (another URI), "merged" (replaced by a concept that was there before), "split" (replaced by
        several), "deprecated" (without a replacement), "removed", "moved" (other broader concepts or schemes), or
        "names".
    label : str
        The concept; for a renamed one, its URI before.
    to : tuple of str
        The concepts that replace it.
    before, after : tuple of str
        Its names or, if it was moved, its broader concepts.
    """

    kind: str
    label: str
    to: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def compare(old: Vocabulary, new: Vocabulary) -> list[Change]:
    """Return the changes from one version of a vocabulary to the next, by kind and label.

    Parameters
    ----------
    old, new : Vocabulary
        As `abound.data.read_vocabulary` returns them, with names in the same language.

    Examples
    --------
    >>> from abound.data import Relations, Vocabulary
    >>> old = Vocabulary({"a": ["cars"], "b": ["autos"]}, Relations())
    >>> new = Vocabulary({"a": ["cars"]}, Relations(replaced=[("b", "a")]))
    >>> compare(old, new)
    [Change(kind='merged', label='b', to=('a',), before=('autos',), after=())]
    """
    were, are = set(old.names), {*new.names, *new.relations.concepts}
    ends = _ends(old, new, were, are)
    renamed = {change.label: change.to[0] for change in ends if change.kind == "renamed"}
    current = {change.label: change.to[0] for change in ends if len(change.to) == 1}
    origin_of = {to: label for label, to in renamed.items()}
    changes = list(ends)
    for label in new.names:
        before = origin_of.get(label, label)
        if before not in were:
            changes.append(Change("added", label, after=tuple(new.names[label])))
        elif (names := tuple(new.names[label])) != tuple(old.names[before]):
            changes.append(Change("names", label, before=tuple(old.names[before]), after=names))
    changes += _moved(old, new, origin_of, current)
    return sorted(changes, key=lambda change: (KINDS.index(change.kind), change.label))


def _ends(old: Vocabulary, new: Vocabulary, were: set[str], are: set[str]) -> list[Change]:
    """Return what became of the concepts that are no longer there."""
    options: dict[str, list[str]] = {}
    for label, by in new.relations.replaced:
        options.setdefault(label, []).extend([by] if by else [])
    gone = sorted(were - are)
    targets = {label: _targets(label, options, are) for label in gone}
    takers: dict[str, list[str]] = {}
    for label, to in targets.items():
        if len(to) == 1 and to[0] not in were:
            takers.setdefault(to[0], []).append(label)
    changes = []
    for label in gone:
        to, names = targets[label], tuple(old.names[label])
        if len(to) > 1:
            kind = "split"
        elif to:
            kind = "renamed" if takers.get(to[0], [])[:1] == [label] else "merged"
        else:
            kind = "deprecated" if label in options else "removed"
        changes.append(Change(kind, label, to, before=names))
    return changes


def _targets(label: str, options: Mapping[str, Sequence[str]], are: set[str]) -> tuple[str, ...]:
    """Return the concepts that replace one, after following chains; those that are gone, too, are left out."""
    found: dict[str, None] = {}
    seen, waiting = {label}, list(options.get(label, ()))
    while waiting:
        at = waiting.pop(0)
        if at in seen:
            continue
        seen.add(at)
        if at in are:
            found[at] = None
        else:
            waiting += options.get(at, ())
    return tuple(sorted(found))


def _moved(
    old: Vocabulary, new: Vocabulary, origin_of: Mapping[str, str], current: Mapping[str, str]
) -> Iterable[Change]:
    """Yield the concepts whose place changed; a broader concept that was renamed or merged is the same place."""
    known = {*new.relations.concepts} or {name for pair in new.relations.broader for name in pair}
    were, are = (_lists(part.broader) for part in (old.relations, new.relations))
    schemes = [_lists(part.schemes) for part in (old.relations, new.relations)]
    for label in new.names:
        origin = origin_of.get(label, label)
        if origin not in old.names:
            continue
        before = sorted({current.get(parent, parent) for parent in were.get(origin, ())} & known)
        after = sorted({parent for parent in are.get(label, ()) if parent in known})
        in_schemes = [sorted(set(of.get(at, ()))) for of, at in zip(schemes, (origin, label), strict=True)]
        if before != after or in_schemes[0] != in_schemes[1]:
            yield Change("moved", label, before=tuple(before), after=tuple(after))


def _lists(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for one, other in pairs:
        lists.setdefault(one, []).append(other)
    return lists


def places(relations: Relations) -> dict[str, tuple[list[str], list[str]]]:
    """Return the broader concepts that the vocabulary has, and the schemes, of each concept."""
    broader, schemes = _lists(relations.broader), _lists(relations.schemes)
    known = {*relations.concepts} or {name for pair in relations.broader for name in pair}
    return {
        label: (sorted({p for p in broader.get(label, ()) if p in known}), sorted(set(schemes.get(label, ()))))
        for label in known
    }
