"""Run every input of the corpus, and mutations of them, through its target."""

import random

import pytest

from tests.fuzz.__main__ import CORPUS
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.kernel
# Mutations per input of the corpus; whole models and files cost more.
MORE = {"api": 5, "model": 3, "manifest": 10, "journal": 3, "read-parquet": 10}


def changed(raw, chance):
    """Return an input with a few bytes changed, inserted, removed or repeated."""
    raw = bytearray(raw)
    for _ in range(chance.randrange(1, 5)):
        at, how = chance.randrange(len(raw) + 1), chance.randrange(4)
        if how == 0 and raw:
            raw[at % len(raw)] = chance.choice(b'\0\t\n\r ",:|#\\{[0e-\xff\xc3' + bytes([chance.randrange(256)]))
        elif how == 1:
            raw[at:at] = bytes(chance.choices(range(256), k=chance.randrange(1, 4)))
        elif how == 2:
            del raw[at : at + chance.randrange(1, 8)]
        else:
            raw[at:at] = raw[at // 2 : at]
    return bytes(raw[:600])


def test_every_target_has_a_corpus():
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert {name for name, _, _ in seeds()} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_and_its_neighbours_do_no_harm(name):
    for path in sorted((CORPUS / name).iterdir()):
        raw = path.read_bytes()
        TARGETS[name](raw)
        for seed in range(MORE.get(name, 40)):
            TARGETS[name](changed(raw, random.Random(f"{path.name} {seed}")))


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_do_no_harm(name):
    for raw in (b"", b"\0", b"\n", b"\xff" * 50):
        TARGETS[name](raw)
