import gzip
import sys
from pathlib import Path

import pytest

from abound import DataError
from abound.data import read_label_names

HEAD = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix e: <http://example.org/> .
"""
VOCABULARY = (
    HEAD
    + """
e:scheme a skos:ConceptScheme ; skos:prefLabel "All animals"@en .
e:b a skos:Concept ; skos:prefLabel "cats"@en, "kissat"@fi ; skos:altLabel "house  cats"@en, "cat"@en, "cats"@en .
e:a a skos:Concept ; skos:prefLabel "dogs"@en .
e:gone a skos:Concept ; skos:prefLabel "dodos"@en ; owl:deprecated true .
e:silent a skos:Concept ; skos:altLabel "nameless"@en .
"""
)


def written(folder: Path, text: str, name: str = "vocabulary.ttl") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["vocabulary.ttl", "vocabulary.ttl.gz"])
def test_names_of_concepts_in_one_language(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, VOCABULARY, name)
    found = read_label_names(path, "en")
    assert list(found.items()) == [
        ("http://example.org/a", ["dogs"]),
        ("http://example.org/b", ["cats", "cat", "house cats"]),
    ]
    assert read_label_names(path, "fi") == {"http://example.org/b": ["kissat"]}


def test_other_syntaxes(tmp_path: Path) -> None:
    skos = "http://www.w3.org/2004/02/skos/core#"
    triple = f'<http://example.org/a> <{skos}prefLabel> "dogs" .\n'
    assert read_label_names(written(tmp_path, triple, "v.nt")) == {"http://example.org/a": ["dogs"]}
    xml = (
        f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="{skos}">'
        '<skos:Concept rdf:about="http://example.org/a"><skos:prefLabel xml:lang="en">dogs</skos:prefLabel>'
        "</skos:Concept></rdf:RDF>"
    )
    assert read_label_names(written(tmp_path, xml, "v.rdf")) == {"http://example.org/a": ["dogs"]}


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        (VOCABULARY, None, "several languages; pass language=..., one of 'en', 'fi'"),
        (VOCABULARY, "sv", "no concept has a preferred name in language 'sv'"),
        (HEAD, None, "no concept with a skos:prefLabel"),
        ("e:a a e:b .", None, "the file is not valid turtle"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, language: str | None, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_label_names(written(tmp_path, text), language)


def test_damaged_compression_is_said(tmp_path: Path) -> None:
    path = tmp_path / "v.ttl.gz"
    path.write_bytes(gzip.compress(VOCABULARY.encode())[:-9])
    with pytest.raises(DataError, match="the compressed data ends early"):
        read_label_names(path, "en")


def test_a_language_of_a_plain_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only for a SKOS vocabulary"):
        read_label_names(written(tmp_path, "1\tcats\n", "labels.tsv"), "en")


def test_without_rdflib_the_pip_command_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(ImportError, match=r"pip install 'abound\[skos\]'"):
        read_label_names(written(tmp_path, VOCABULARY), "en")
