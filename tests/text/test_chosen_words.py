"""Words that somebody chose, so that the vocabulary would have to search for each among all the others."""

import hashlib
import string
import subprocess
import sys

import numpy as np
import pytest

from abound.text import TextEncoder

pytestmark = pytest.mark.kernel

N_CELLS = 1 << 11  # of a vocabulary with 1,000 terms
STATE = """
import hashlib, sys
from abound.text import TextEncoder
encoder = TextEncoder(ngrams=2, min_count=2)
encoder.rows([f"word{i % 40} word{i % 7} and word{i}" for i in range(200)], learn=True)
arrays = encoder.arrays()
print(hashlib.sha256(b"".join(bytes(arrays[name]) for name in sorted(arrays))).hexdigest())
"""


def mixed(h):
    """Mix the bits of numbers as the kernel does."""
    for _ in range(2):
        h = (h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


def chosen_words(seed):
    """Return words of eight letters that belong into one cell, if the hash has this seed."""
    letters = np.frombuffer((string.ascii_lowercase + string.digits).encode(), np.uint8)
    words = letters[np.random.default_rng(0).integers(len(letters), size=(2_500_000, 8))]
    length = np.uint64(8 * 0x9E3779B97F4A7C15 % 2**64)
    cells = mixed(words.view(np.uint64)[:, 0] ^ length ^ np.uint64(seed)) % np.uint64(N_CELLS)
    return sorted({bytes(word).decode() for word in words[cells == 5]})[:1000]


def test_words_cannot_be_chosen_for_one_cell():
    encoder = TextEncoder(ngrams=1)
    encoder.rows([" ".join(chosen_words(seed=0))], learn=True)
    assert encoder.n_terms == 1000
    assert encoder.vocabulary.longest_probe < 150  # 1,000 if they had met
    restored = TextEncoder(ngrams=1)
    restored.restore(encoder.arrays())
    assert restored.vocabulary.longest_probe == encoder.vocabulary.longest_probe


def test_the_state_is_that_of_every_other_process(capsys):
    exec(STATE, {})  # noqa: S102  the same lines here and there
    there = subprocess.run([sys.executable, "-c", STATE], capture_output=True, text=True, check=True).stdout
    assert capsys.readouterr().out == there
    assert len(there.strip()) == hashlib.sha256().digest_size * 2
