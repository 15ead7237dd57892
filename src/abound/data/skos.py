"""Read the names of labels from a SKOS vocabulary in Turtle, N-Triples or RDF/XML, with rdflib."""

from collections import defaultdict
from typing import Any, BinaryIO

from abound.data.extras import require
from abound.data.formats import Malformed

PARSERS = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".skos": "xml"}


def parser_of(name: str) -> str | None:
    """Return rdflib's name for the syntax of a file, or None if it is not a vocabulary.

    Examples
    --------
    >>> parser_of("yso-skos.TTL")
    'turtle'
    """
    return next((parser for suffix, parser in PARSERS.items() if name.lower().endswith(suffix)), None)


def read_skos(
    stream: BinaryIO, parser: str, language: str | None, likely_language: str | None = None
) -> dict[str, list[str]]:
    """Return the names of each concept by URI: the preferred name first, then alternative names.

    If no language is given, the only one of the vocabulary is used, or `likely_language` if it has several. Deprecated
    concepts and concepts without a preferred name in the language are left out.
    """
    rdflib = require("rdflib", "skos", "SKOS vocabularies")
    graph, content = rdflib.Graph(), stream.read()
    try:
        graph.parse(data=content, format=parser)
    except Exception as error:  # rdflib's parsers raise many kinds of errors
        raise Malformed(f"the file is not valid {parser}: {' '.join(str(error).split())[:200]}") from None
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
