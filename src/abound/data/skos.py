"""Read the names and relations of labels from a SKOS vocabulary in Turtle, N-Triples or RDF/XML, with rdflib."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from abound.data.extras import require
from abound.data.formats import Malformed
from abound.data.relations import Relations

PARSERS = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".skos": "xml"}


def parser_of(name: str) -> str | None:
    """Return rdflib's name for the syntax of a file, or None if it is not a vocabulary.

    Examples
    --------
    >>> parser_of("yso-skos.TTL")
    'turtle'
    """
    return next((parser for suffix, parser in PARSERS.items() if name.lower().endswith(suffix)), None)


class Vocabulary(NamedTuple):
    """The names of each label, the preferred name first, and how labels are related."""

    names: dict[str, list[str]]
    relations: Relations


def read_skos(stream: BinaryIO, parser: str, language: str | None, likely_language: str | None = None) -> Vocabulary:
    """Return the names of each concept by URI, the preferred name first, and the relations of concepts.

    If no language is given, the only one of the vocabulary is used, or `likely_language` if it has several. Deprecated
    concepts and concepts without a preferred name in the language have no names here.
    """
    graph, rdflib = _parsed(stream, parser)
    names = _all_names(graph, rdflib, language, likely_language)
    return Vocabulary(names, _relations(graph, rdflib))


def read_skos_relations(stream: BinaryIO, parser: str) -> Relations:
    """Return the relations of concepts, whatever the languages of their names are."""
    return _relations(*_parsed(stream, parser))


def _parsed(stream: BinaryIO, parser: str) -> tuple[Any, Any]:
    rdflib = require("rdflib", "skos", "SKOS vocabularies")
    graph, content = rdflib.Graph(), stream.read()
    try:
        graph.parse(data=content, format=parser)
    except Exception as error:  # rdflib's parsers raise many kinds of errors
        raise Malformed(f"the file is not valid {parser}: {' '.join(str(error).split())[:200]}") from None
    return graph, rdflib


def _all_names(graph: Any, rdflib: Any, language: str | None, likely_language: str | None) -> dict[str, list[str]]:
    concepts = _concepts(graph, rdflib)
    language = language or _only_language(graph, rdflib, concepts, likely_language)
    names: dict[str, list[str]] = {}
    for concept in concepts:
        preferred = _names(graph, concept, rdflib.SKOS.prefLabel, language)
        if preferred:
            others = _names(graph, concept, rdflib.SKOS.altLabel, language)
            names[str(concept)] = list(dict.fromkeys([*preferred, *others]))
    if not names:
        raise Malformed(f"no concept has a preferred name in language {language!r}")
    return names


def _concepts(graph: Any, rdflib: Any) -> list[Any]:
    with_names = {subject for subject in graph.subjects(rdflib.SKOS.prefLabel) if isinstance(subject, rdflib.URIRef)}
    typed = {subject for subject in graph.subjects(rdflib.RDF.type, rdflib.SKOS.Concept) if subject in with_names}
    deprecated = set(graph.subjects(rdflib.OWL.deprecated, rdflib.Literal(True)))
    concepts = sorted((typed or with_names) - deprecated)  # a graph has no order, and a model depends on it
    if not concepts:
        raise Malformed("the vocabulary has no concept with a skos:prefLabel")
    return concepts


def _only_language(graph: Any, rdflib: Any, concepts: list[Any], likely: str | None) -> str:
    counts: dict[str, int] = defaultdict(int)
    for concept in concepts:
        for name in graph.objects(concept, rdflib.SKOS.prefLabel):
            counts[name.language or ""] += 1
    if likely in counts:
        return str(likely)
    if len(counts) > 1:
        known = ", ".join(repr(name) for name in sorted(counts, key=lambda name: (-counts[name], name))[:10])
        raise Malformed(f"the vocabulary has names in several languages; pass language=..., one of {known}")
    return next(iter(counts))


def _names(graph: Any, concept: Any, property_: Any, language: str) -> list[str]:
    names = (name for name in graph.objects(concept, property_) if (name.language or "") == language)
    return sorted(text for text in (" ".join(str(name).split()) for name in names) if text)


# -- relations ---------------------------------------------------------------------------------------


def _relations(graph: Any, rdflib: Any) -> Relations:
    skos = rdflib.SKOS
    deprecated = _deprecated(graph, rdflib)
    concepts = sorted(_all_concepts(graph, rdflib) - deprecated)
    known = set(concepts)

    def pairs(property_: Any, inverse: Any = None) -> list[tuple[str, str]]:
        found = _links(graph, rdflib, property_)
        back = () if inverse is None else ((o, s) for s, o in _links(graph, rdflib, inverse))
        return sorted({pair for part in (found, back) for pair in part if pair[0] in known})

    tops = pairs(skos.topConceptOf, skos.hasTopConcept)
    schemes = sorted({*pairs(skos.inScheme), *tops})
    related = pairs(skos.related, skos.related)
    return Relations(
        concepts=concepts,
        broader=[pair for pair in pairs(skos.broader, skos.narrower) if pair[1] not in deprecated],
        related=[pair for pair in related if pair[1] in known],
        matches=pairs(skos.exactMatch),
        schemes=schemes,
        tops=tops,
        scheme_names=_scheme_names(graph, rdflib, {scheme for _, scheme in schemes}),
        replaced=_replaced(graph, rdflib, deprecated, known),
    )


def _links(graph: Any, rdflib: Any, property_: Any) -> Iterator[tuple[str, str]]:
    for subject, found in graph.subject_objects(property_):
        if isinstance(subject, rdflib.URIRef) and isinstance(found, rdflib.URIRef):
            yield str(subject), str(found)


def _deprecated(graph: Any, rdflib: Any) -> set[str]:
    return {str(subject) for subject in graph.subjects(rdflib.OWL.deprecated, rdflib.Literal(True))}


def _all_concepts(graph: Any, rdflib: Any) -> set[str]:
    """Return all concepts, with or without a name."""
    kinds = (graph.subjects(rdflib.RDF.type, rdflib.SKOS.Concept), graph.subjects(rdflib.SKOS.prefLabel))
    typed, named = ({str(found) for found in kind if isinstance(found, rdflib.URIRef)} for kind in kinds)
    return typed or named


def _scheme_names(graph: Any, rdflib: Any, schemes: Iterable[str]) -> dict[str, str]:
    """Return one name of each scheme: the first without a language or in English, or else the first of all."""
    names = {}
    properties = (rdflib.SKOS.prefLabel, rdflib.DCTERMS.title, rdflib.DC.title, rdflib.RDFS.label)
    for scheme in sorted(schemes):
        titles = [name for of in properties for name in sorted(graph.objects(rdflib.URIRef(scheme), of))]
        best = sorted(titles, key=lambda name: getattr(name, "language", None) not in (None, "en"))
        if best and (text := " ".join(str(best[0]).split())):
            names[scheme] = text
    return names


def _replaced(graph: Any, rdflib: Any, deprecated: set[str], known: set[str]) -> list[tuple[str, str]]:
    """Return concepts that are deprecated or gone with their replacements; an empty one where there is none."""
    pairs = {pair for pair in _links(graph, rdflib, rdflib.DCTERMS.isReplacedBy) if pair[0] not in known}
    pairs |= {(old, new) for new, old in _links(graph, rdflib, rdflib.DCTERMS.replaces) if old not in known}
    with_one = {old for old, _ in pairs}
    return sorted({*pairs, *((old, "") for old in deprecated - with_one)})
