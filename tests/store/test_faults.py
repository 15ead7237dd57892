"""Faults of the system while models are saved and journals are written; docs/reliability.md describes each."""

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import abound
from abound.errors import JournalError, JournalUnavailable
from abound.store import locks as locking
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from tests.rankers.streams import stream

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, forks and mounts are POSIX's")


def learn(number):
    return Learn(f"text {number}", added=[f"label {number}"])


@pytest.fixture(scope="module")
def models():
    """Two models that differ, small and large."""
    small = abound.FeatureFocus().fit(*stream(30))
    return small, abound.FeatureFocus().fit(*stream(300, n_features=400, n_labels=90, seed=2))


@pytest.fixture
def mounted(tmp_path):
    """A file system of 256 KiB, where this process may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        made = subprocess.run(options, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("this process may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def remounted(place, *, read_only):
    how = "remount,ro" if read_only else "remount,rw"
    subprocess.run(["mount", "-o", how, str(place)], check=True)


# -- a full disk -------------------------------------------------------------------------------------


def test_a_model_that_may_not_grow_stays_as_it_was(models, tmp_path):
    import resource

    small, large = models
    small.save(tmp_path / "model")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            large.save(tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert abound.load(tmp_path / "model").state_hash() == small.state_hash()
    assert not list((tmp_path / "model").glob(".writing-*"))
    large.save(tmp_path / "model")
    assert abound.load(tmp_path / "model").state_hash() == large.state_hash()


def test_a_full_disk_leaves_the_old_model_and_no_half_of_the_new(models, mounted):
    small, _ = models
    small.save(mounted / "model")
    held = {file.name for file in (mounted / "model").iterdir()}
    (mounted / "ballast").write_bytes(b"x" * 150_000)
    huge = abound.FeatureFocus(w_min=0.0).fit(*stream(900, n_features=3000, n_labels=900, seed=3))
    with pytest.raises(OSError, match="No space left") as error:
        huge.save(mounted / "model")
    assert error.value.errno == errno.ENOSPC
    assert error.value.filename == str(mounted / "model")
    abound.load(mounted / "model")
    assert {file.name for file in (mounted / "model").iterdir()} == held
    (mounted / "ballast").unlink()
    small.save(mounted / "model")
    assert abound.load(mounted / "model").state_hash() == small.state_hash()


def test_a_full_disk_leaves_nothing_of_a_first_model(models, mounted):
    small, _ = models
    huge = abound.FeatureFocus(w_min=0.0).fit(*stream(900, n_features=3000, n_labels=900, seed=3))
    (mounted / "ballast").write_bytes(b"x" * 150_000)
    with pytest.raises(OSError, match="No space left"):
        huge.save(mounted / "model")
    assert list((mounted / "model").iterdir()) == []
    small.save(mounted / "model")
    assert abound.load(mounted / "model").state_hash() == small.state_hash()


def test_what_a_writer_that_died_has_left_is_no_obstacle(models, tmp_path):
    small, large = models
    large.save(tmp_path / "model")
    (tmp_path / "model" / "manifest.json").unlink()
    (tmp_path / "model" / ".writing-abc").touch()
    small.save(tmp_path / "model")
    assert abound.load(tmp_path / "model").state_hash() == small.state_hash()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(FileExistsError, match="is not a model"):
        small.save(tmp_path / "other")


def test_a_journal_on_a_full_disk_acknowledges_nothing(mounted):
    with Journal.create(mounted / "journal.sqlite") as journal:
        journal.append([(learn(1), "a")])
        with contextlib.suppress(OSError):
            (mounted / "ballast").write_bytes(b"x" * 300_000)
        with pytest.raises(JournalUnavailable):
            journal.append([(Learn("x" * 20_000, added=["a"]), f"{number}") for number in range(30)])
        known = journal.last
        (mounted / "ballast").unlink()
        journal.append([(learn(2), "b")])
        assert journal.last == known + 1
        assert list(journal.damage()) == []


# -- a read-only directory ---------------------------------------------------------------------------


def test_a_model_is_loaded_from_a_read_only_directory_and_not_saved_there(models, mounted):
    small, large = models
    small.save(mounted / "model")
    remounted(mounted, read_only=True)
    try:
        assert abound.load(mounted / "model").partial_fit(*stream(30, seed=1)).n_rows_seen_ == 60
        with pytest.raises(OSError, match="Read-only file system"):
            large.save(mounted / "model")
    finally:
        remounted(mounted, read_only=False)
    assert abound.load(mounted / "model").state_hash() == small.state_hash()


def test_a_journal_in_a_read_only_directory_is_read_and_not_written(mounted):
    with Journal.create(mounted / "journal.sqlite") as journal:
        journal.append([(learn(1), None)])
    remounted(mounted, read_only=True)
    try:
        with Journal(mounted / "journal.sqlite") as journal:
            assert [stored.sequence for stored in journal.read()] == [1]
            assert list(journal.damage()) == []
        with pytest.raises(JournalUnavailable, match=r"journal\.sqlite cannot be written"):
            Journal(mounted / "journal.sqlite", write=True)
    finally:
        remounted(mounted, read_only=False)
    with Journal(mounted / "journal.sqlite") as journal:
        assert journal.last == 1


def test_a_journal_that_a_crash_left_in_a_read_only_directory_is_read_with_its_log(mounted, tmp_path):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        journal.append([(learn(1), None)])
        for name in ("journal.sqlite", "journal.sqlite-wal"):
            shutil.copy(tmp_path / name, mounted / name)
    remounted(mounted, read_only=True)
    try:
        with Journal(mounted / "journal.sqlite") as journal:
            assert [stored.record for stored in journal.read()] == [learn(1)]
    finally:
        remounted(mounted, read_only=False)


# -- signals -----------------------------------------------------------------------------------------

SAVER = """
import sys, abound
from tests.rankers.streams import stream
models = [abound.FeatureFocus().fit(*stream(60, n_features=100, seed=seed)) for seed in (1, 2)]
print(*(model.state_hash() for model in models), flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
        print("saved", flush=True)
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_while_saving_leaves_a_whole_model(tmp_path, stop):
    chance, path = random.Random(int(stop)), tmp_path / "model"
    for _ in range(2):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        hashes = saver.stdout.readline().split()
        for _ in range(chance.randrange(1, 5)):
            saver.stdout.readline()
        time.sleep(chance.random() * 0.02)
        saver.send_signal(stop)
        saver.communicate()
        assert abound.load(path).state_hash() in hashes
        if stop == signal.SIGINT:  # Python raises in the program, which tidies up, unless a file was just being made
            assert len(list(path.glob(".writing-*"))) <= 1
    abound.load(path).save(path)
    assert not list(path.glob(".writing-*"))  # the next save removes leftover files


# -- two at once -------------------------------------------------------------------------------------


def test_two_writers_of_one_directory_take_turns(models, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path, failures = tmp_path / "model", []
    models[0].save(path)
    hashes = {model.state_hash() for model in models}

    def save(model):
        try:
            for _ in range(12):
                model.save(path)
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=save, args=(model,)) for model in models]
    for writer in writers:
        writer.start()
    n_read = 0
    while any(writer.is_alive() for writer in writers):
        with contextlib.suppress(abound.DamagedModel):  # replaced three times while it was read; see read_model
            assert abound.load(path).state_hash() in hashes
            n_read += 1
    assert not failures
    assert n_read
    assert abound.load(path).state_hash() in hashes
    assert len(list(path.iterdir())) == 9


def test_a_lock_may_be_taken_again_by_its_owner(tmp_path):
    leftover = tmp_path / ".writing-1"
    with locking.lock_directory(tmp_path) as first, locking.lock_directory(tmp_path) as second:
        assert first
        assert second
        leftover.touch()
        with locking.exclusive_writer(tmp_path):
            assert not leftover.exists()


def test_a_directory_that_was_replaced_while_a_writer_waited_is_locked(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "model"
    path.mkdir()
    owner = os.open(path, os.O_RDONLY)
    fcntl.flock(owner, fcntl.LOCK_EX)

    def replace():
        path.rename(tmp_path / "old")
        path.mkdir()
        os.close(owner)

    with locking.lock_directory(path, replace) as locked:
        assert locked
        other = os.open(path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)


def test_a_disk_without_locks_is_written_without_a_lock(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locking.fcntl, "flock", flock)
    with locking.lock_directory(tmp_path / "model") as locked:
        assert not locked
        assert (tmp_path / "model").is_dir()


def test_a_journal_whose_lock_cannot_be_opened_is_unavailable(tmp_path):
    Journal.create(tmp_path / "journal.sqlite").close()
    (tmp_path / "journal.sqlite.lock").unlink()
    (tmp_path / "journal.sqlite.lock").mkdir()
    with pytest.raises(JournalUnavailable, match=r"cannot be written: .*\.lock cannot be opened"):
        Journal(tmp_path / "journal.sqlite", write=True)


def test_a_journal_is_not_used_in_a_child_with_a_smaller_number(tmp_path, monkeypatch):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        parent = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: parent - 1)  # the numbers of processes begin again at some time
        with pytest.raises(JournalError, match="was opened before this process was forked"):
            journal.append([(learn(1), None)])
        monkeypatch.undo()


def test_a_journal_is_not_used_across_a_fork(tmp_path):
    with Journal.create(tmp_path / "journal.sqlite") as journal:
        journal.append([(learn(1), None)])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                journal.append([(learn(2), None)])
            except JournalError:
                code = 42
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
        journal.append([(learn(2), None)])
        assert [stored.sequence for stored in journal.read()] == [1, 2]


@pytest.mark.parametrize("kind", ["feature-focus", "cascade"])
def test_a_fork_among_threads_that_rank_can_rank_and_learn(kind):
    X, Y = stream(100)
    ranker = (abound.FeatureFocus() if kind == "feature-focus" else abound.Cascade()).fit(X, Y)
    expected, stop = list(ranker.rank(X, 5)), threading.Event()

    def rank():
        while not stop.is_set():
            ranker.rank(X, 5)

    threads = [threading.Thread(target=rank) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                same = list(ranker.rank(X, 5)) == expected
                ranker.partial_fit(X, Y)
                os._exit(0 if same else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert list(ranker.rank(X, 5)) == expected


# -- the clock ---------------------------------------------------------------------------------------


def test_a_clock_that_goes_back_changes_neither_models_nor_the_order_of_records(tmp_path, monkeypatch, models):
    models[0].save(tmp_path / "a")
    with Journal.create(tmp_path / "journal.sqlite", key_life=100) as journal:
        journal.append([(learn(1), "key 1")])
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now - 10**18)
        monkeypatch.setattr(time, "time", lambda: (now - 10**18) / 1e9)
        assert journal.append([(learn(1), "key 1"), (learn(2), "key 2")])[0].repeated
        assert [stored.sequence for stored in journal.read()] == [1, 2]
        models[0].save(tmp_path / "b")
    with Journal(tmp_path / "journal.sqlite", write=True) as journal:
        assert journal.find(learn(2), "key 2") == 2
    names = [sorted(path.name for path in (tmp_path / which).iterdir()) for which in "ab"]
    assert names[0] == names[1]


@pytest.mark.parametrize("locks", [True, False])
def test_leftovers_are_removed_only_under_the_lock(tmp_path, locks, monkeypatch):
    (tmp_path / "model").mkdir()
    leftover = tmp_path / "model" / ".writing-1"
    leftover.write_text("of a writer that died, or that still writes")
    if not locks:
        monkeypatch.setattr(locking, "fcntl", None)  # as on Windows
    with locking.exclusive_writer(tmp_path / "model"):
        assert leftover.exists() != locks
    with locking.exclusive_writer(tmp_path / "new"):
        assert (tmp_path / "new").is_dir()
