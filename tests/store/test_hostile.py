"""Hostile model directories are refused immediately, and run no code."""

import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from abound.errors import ModelError
from abound.store import read_model
from tests.store.hostile.attacks import ATTACKS
from tests.store.hostile.forge import array, content_of, put, write_content
from tests.store.hostile.mutations import mutated
from tests.store.hostile.zoo import MAKERS, build, load, saved, use

MOST_SECONDS = 1.0
MAX_BYTES = 64 << 20
STATUS = Path("/proc/self/status")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and pipes need a privilege there")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # what is forged need not outlive a loss of power


def resident(which):
    """Return this process's resident bytes, now (VmRSS) or at their peak (VmHWM)."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(which))
    return 1024 * int(line.split()[1])


def too_long(*_):
    raise TimeoutError("the attack was neither refused nor accepted")


def copied(kind, tmp_path):
    return Path(shutil.copytree(saved(kind), tmp_path / kind))


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_at_once_and_runs_nothing(name, tmp_path, monkeypatch):
    kind, attack = ATTACKS[name]
    path = copied(kind, tmp_path)
    attack(path)
    monkeypatch.chdir(tmp_path)  # where code in a header would leave its mark
    on_disk = sum(512 * p.lstat().st_blocks for p in path.iterdir())
    measures_memory = STATUS.exists() and os.access("/proc/self/clear_refs", os.W_OK)
    if measures_memory:
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        before = resident("VmRSS")
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(20)  # a pipe without a writer would be waited for
    start = time.process_time()
    try:
        with pytest.raises(ModelError):
            load(path)
    finally:
        seconds = time.process_time() - start
        signal.alarm(0)
    assert seconds < MOST_SECONDS
    if measures_memory:
        assert resident("VmHWM") - before < MAX_BYTES + on_disk
    assert not (tmp_path / "code-ran").exists()


def test_there_are_attacks_on_every_kind():
    assert len(ATTACKS) > 150
    assert {kind for kind, _ in ATTACKS.values()} >= set(MAKERS) - {
        "feature-focus-rated",
        "perceptron",
        "tagger-pivoted",
    }


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_loads_and_can_be_used(kind, tmp_path):
    use(load(copied(kind, tmp_path)))


def test_files_that_the_manifest_does_not_list_are_not_opened(tmp_path):
    path = copied("tagger", tmp_path)
    expected = load(path).state_hash()
    os.mkfifo(path / "edges-0123456789abcdef.npy")
    (path / "evil.pkl").write_bytes(b"cos\nsystem\n")
    (path / "link").symlink_to("/etc/passwd")
    assert load(path).state_hash() == expected


def test_an_array_that_no_model_has_changes_nothing(tmp_path):
    path = copied("mmp", tmp_path)
    expected = load(path).state_hash()
    array("prototype_labels", lambda a: a)(path)
    content = content_of(path)
    content["files"]["extra"] = content["files"]["prototype_weights"]
    name = content["files"]["extra"]["sha256"][:16]
    shutil.copy(path / f"prototype_weights-{name}.npy", path / f"extra-{name}.npy")
    write_content(path, content)
    assert load(path).state_hash() == expected


@pytest.mark.kernel
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("n", [25, pytest.param(5000, marks=pytest.mark.slow)])
def test_what_is_accepted_does_no_harm(kind, n):
    """Arrays and parameters that are changed at random, with valid checksums, are refused or used without a fault."""
    whole, accepted = read_model(saved(kind)), 0
    for seed in range(n):
        try:
            model = build(kind, mutated(whole, np.random.default_rng(seed)))
        except ModelError:
            continue
        accepted += 1
        use(model)
    assert accepted < n


def test_a_value_that_a_kernel_may_meet_is_not_refused(tmp_path):
    """Unusual models that could have been learned do load."""
    path = copied("feature-focus", tmp_path)
    array("feature_totals", put(0, 1e30))(path)
    use(load(path))
