import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from abound import DamagedModel, DataError
from abound.data import read_vocabulary
from abound.hierarchy import Hierarchy, read_hierarchy

E = "http://example.org/"
VOCABULARY = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix e: <http://example.org/> .

e:zoology a skos:ConceptScheme ; dct:title "Zoology"@en, "Eläintiede"@fi ; skos:hasTopConcept e:animals .
e:homes a skos:ConceptScheme .

e:animals a skos:Concept ; skos:prefLabel "animals"@en ; skos:inScheme e:zoology ; skos:narrower e:mammals .
e:mammals a skos:Concept ; skos:prefLabel "mammals"@en ; skos:inScheme e:zoology .
e:pets a skos:Concept ; skos:prefLabel "pets"@en ; skos:topConceptOf e:homes ; skos:broader e:gone .
e:cats a skos:Concept ; skos:prefLabel "cats"@en ; skos:broader e:mammals, e:pets, e:missing ;
    skos:inScheme e:zoology, e:homes ; skos:related e:mice ; skos:exactMatch <http://other.org/felis> .
e:mice a skos:Concept ; skos:prefLabel "mice"@en ; skos:broader e:mammals ; skos:inScheme e:zoology .
e:silent a skos:Concept ; skos:broader e:cats .
e:egg a skos:Concept ; skos:prefLabel "eggs"@en ; skos:broader e:hen .
e:hen a skos:Concept ; skos:prefLabel "hens"@en ; skos:broader e:egg ; skos:broader e:hen .
e:gone a skos:Concept ; skos:prefLabel "beasts"@en ; owl:deprecated true ; dct:isReplacedBy e:old .
e:old a skos:Concept ; skos:prefLabel "creatures"@en ; owl:deprecated true ; dct:isReplacedBy e:animals .
e:split a skos:Concept ; owl:deprecated true ; dct:isReplacedBy e:cats, e:mice .
e:ended a skos:Concept ; owl:deprecated true .
"""


@pytest.fixture(scope="module")
def skos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("skos") / "animals.ttl"
    path.write_text(VOCABULARY)
    return path


def local(names: list[str]) -> list[str]:
    return [name.removeprefix(E) for name in names]


def test_relations_of_a_vocabulary(skos: Path) -> None:
    found = read_hierarchy(skos)
    assert local(list(found.concepts)) == ["animals", "cats", "egg", "hen", "mammals", "mice", "pets", "silent"]
    assert local(found.top_concepts) == ["animals", "pets"]
    assert local(found.parents(E + "mammals")) == ["animals"]  # from the inverse, skos:narrower
    assert local(found.parents(E + "cats")) == ["mammals", "pets"]
    assert local(found.ancestors_of(E + "silent")) == ["cats", "mammals", "pets", "animals"]
    assert local(found.related(E + "mice")) == ["cats"]
    assert found.matches(E + "cats") == ["http://other.org/felis"]
    assert local(found.schemes_of(E + "cats")) == ["homes", "zoology"]
    assert local(found.schemes_of(E + "animals")) == ["zoology"]  # from skos:hasTopConcept
    assert found.scheme_number("Zoology") == found.scheme_number(E + "zoology") == 1
    assert found.scheme_number("Botany") is None
    assert found.path("unknown") == found.parents("unknown") == found.ancestors_of("unknown") == []


def test_the_path_to_a_top_concept_is_the_shortest(skos: Path) -> None:
    found = read_hierarchy(skos)
    assert local(found.path(E + "silent")) == ["pets", "cats", "silent"]
    assert local(found.path(E + "mice")) == ["animals", "mammals", "mice"]
    assert local(found.path(E + "animals")) == ["animals"]


def test_missing_parents_and_cycles_are_left_out_and_counted(skos: Path) -> None:
    found = read_hierarchy(skos)
    assert found.excluded == (1, 2)
    assert [local(found.parents(E + name)) for name in ("egg", "hen")] in ([[], ["egg"]], [["hen"], []])
    assert len(found.path(E + "egg")) + len(found.path(E + "hen")) == 3


def test_deprecated_labels_have_one_replacement_or_none(skos: Path) -> None:
    found = read_hierarchy(skos).replacements
    expected = {"gone": "animals", "old": "animals", "split": "", "ended": ""}
    assert {old.removeprefix(E): new.removeprefix(E) for old, new in found.items()} == expected


def test_a_branch_is_a_concept_and_everything_below(skos: Path) -> None:
    found = read_hierarchy(skos)
    assert local(found.below(E + "mammals")) == ["cats", "mammals", "mice", "silent"]
    with pytest.raises(ValueError, match="no concept 'cows'"):
        found.below("cows")


def test_names_and_relations_are_read_together(skos: Path) -> None:
    vocabulary = read_vocabulary(skos, "en")
    assert vocabulary.names[E + "cats"] == ["cats"]
    assert Hierarchy.of(vocabulary.relations).arrays().keys() == read_hierarchy(skos).arrays().keys()


def test_arrays_restore_the_same_hierarchy(skos: Path) -> None:
    found = read_hierarchy(skos)
    again = Hierarchy.from_arrays(found.arrays())
    assert local(again.path(E + "silent")) == ["pets", "cats", "silent"]
    assert again.replacements == found.replacements
    again.rename(E + "cats", "felines")
    assert again.path("felines") == [E + "pets", "felines"]
    assert E + "cats" not in again
    assert "felines" not in found
    after, before = Hierarchy.from_arrays(again.arrays()).arrays(), again.arrays()
    assert all(np.array_equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("parent_numbers", lambda array: array + 8),
        ("parent_numbers", lambda array: array - 5),
        ("parent_indptr", lambda array: array[::-1].copy()),
        ("parent_indptr", lambda array: array[:-1]),
        ("tops", lambda array: array + 100),
        ("scheme_names", lambda array: array[:-1]),
        ("deprecated_offsets", lambda array: array[:-1]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, damage, skos: Path) -> None:
    arrays = read_hierarchy(skos).arrays()
    arrays[name] = damage(arrays[name])
    with pytest.raises((ValueError, DamagedModel), match="do not match"):
        Hierarchy.from_arrays(arrays)


def test_a_cycle_in_damaged_arrays_does_not_hang() -> None:
    arrays = Hierarchy.from_pairs([("a", "b"), ("b", "c")]).arrays()
    arrays["parent_indptr"], arrays["parent_numbers"] = np.array([0, 1, 2, 3]), np.array([1, 2, 0], np.int32)
    found = Hierarchy.from_arrays(arrays)
    assert found.ancestors_of("a") == ["b", "c"]
    assert found.path("a") == ["a"]
    assert found.below("a") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("h.tsv", "cats\tmammals\nmammals\tanimals\nanimals\t\n"),
        ("h.tsv", "child\tparent\r\n\r\ncats\tmammals\r\nmammals\tanimals\r\n"),
        ("h.csv", 'Child,Parent\ncats,"mammals"\n<mammals>,animals\n'),
    ],
)
def test_a_table_of_children_and_parents(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode())
    found = read_hierarchy(tmp_path / name)
    assert found.path("cats") == ["animals", "mammals", "cats"]
    assert found.top_concepts == ["animals"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("h.tsv", b"cats\tmammals\ncats mammals\n", ":2: 1 columns in 'cats mammals'; write 'child<TAB>parent'"),
        ("h.csv", b"cats,mammals\n,mammals\n", ":2: the child is empty"),
        ("h.csv", b'cats,mammals\n"dogs,mammals\n', "not valid CSV"),
        ("h.tsv", b"cats\t\xff\n", ":1: byte 0xff"),
    ],
)
def test_a_bad_line_of_a_table_is_named(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_hierarchy(tmp_path / name)


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"table of child and parent \(.tsv or .csv\) or a SKOS vocabulary"):
        read_hierarchy(tmp_path / "hierarchy.json")


def test_large_hierarchies_and_long_chains() -> None:
    n = 50_000
    deep = Hierarchy.from_pairs((f"{i + 1:06}", f"{i:06}") for i in range(n))
    assert len(deep.ancestors_of(f"{n:06}")) == n
    assert len(deep.path(f"{n:06}")) == n + 1
    cycle = Hierarchy.from_pairs((f"{i:06}", f"{(i + 1) % n:06}") for i in range(n))
    assert cycle.excluded.cyclic == 1


def test_hierarchies_are_merged(skos: Path) -> None:
    one, other = read_hierarchy(skos), Hierarchy.from_pairs([(E + "dogs", E + "pets"), (E + "gone", E + "dogs")])
    alone = Hierarchy.merged([one]).arrays()
    assert all(np.array_equal(array, alone[name]) for name, array in one.arrays().items())
    both = Hierarchy.merged([one, other])
    assert local(both.below(E + "pets")) == ["cats", "dogs", "gone", "pets", "silent"]
    assert E + "gone" not in both.replacements
    assert both.replacements[E + "old"] == E + "animals"


def test_a_tagger_ranks_without_importing_the_readers(tmp_path: Path) -> None:
    from abound import Tagger

    tree = Hierarchy.from_pairs([("fruit", "food")])
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["car"]], hierarchy=tree).save(tmp_path / "model")
    code = (
        "import sys; from abound import Tagger; tagger = Tagger.load(sys.argv[1]); tagger.rank('apple', only='food'); "
    )
    code += "Tagger().fit(['a b'], [['x']]).rank('a'); print('abound.data' in sys.modules, tagger.path_of('fruit'))"
    found = subprocess.run([sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True)
    assert found.stdout == "False ['food', 'fruit']\n"
