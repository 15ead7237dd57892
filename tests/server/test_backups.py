"""Backups: consistent while the home is written, incremental, restorable at any record, and refused if damaged."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from abound.errors import BackupError
from abound.server import Home, Writer
from abound.server.backups import back_up, restore
from abound.server.refitting import new_base, save_base
from abound.store.journal import Journal
from abound.store.journal.records import Forget, Learn, Refit, Undo
from tests.server.http.running import ROOT, Running
from tests.server.streams import base, stream


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "served", base())


def hash_at_end(path):
    with Writer(Home(path)) as writer:
        return writer.replica.state_hash(), writer.replica.sequence


def teach(home, records):
    """Write records; return the hash of the state after each."""
    hashes = []
    with Writer(home) as writer:
        for record in records:
            writer.submit(record).result(30)
            hashes.append(writer.replica.state_hash())
    return hashes


def test_a_backup_is_restored_at_its_end_or_at_any_record(home, tmp_path):
    hashes = teach(home, stream(30))
    with Writer(home) as writer:
        assert writer.snapshot(30)  # moves the records to the archive
    hashes += teach(home, [Learn(f"later {number}", added=["later"]) for number in range(5)])
    copied = back_up(home, tmp_path / "backup")
    assert (copied.sequence, copied.removed, copied.has_keys) == (35, 0, False)
    shutil.rmtree(home.path)
    for upto in (35, 34, 30, 12, 1):
        target = tmp_path / f"restored-{upto}"
        assert restore(tmp_path / "backup", target, upto).sequence == upto
        assert hash_at_end(target) == (hashes[upto - 1], upto)
        with Journal(target / "journal.sqlite") as journal:
            assert list(journal.damage()) == []
        assert target.stat().st_mode & 0o077 == 0
    with pytest.raises(BackupError, match="has the records 1 to 35, and not 36"):
        restore(tmp_path / "backup", tmp_path / "later", 36)
    with pytest.raises(BackupError, match="is not empty"):
        restore(tmp_path / "backup", tmp_path / "restored-35")


def test_a_restored_home_has_another_timeline_and_goes_on(home, tmp_path):
    teach(home, stream(10))
    with Journal(home.journal_path) as journal:
        before = journal.token
    back_up(home, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    with Journal(tmp_path / "again" / "journal.sqlite") as journal:
        assert journal.token != before
        times = [stored.time for stored in journal.read(0)]
    assert teach(Home(tmp_path / "again"), [Learn("more", added=["new"])])
    assert restore(tmp_path / "backup", tmp_path / "at", before=times[5]).sequence >= 6
    assert restore(tmp_path / "backup", tmp_path / "nothing", before=times[0] - 1).sequence == 0


def test_a_second_backup_copies_what_is_new_and_removes_what_is_gone(home, tmp_path):
    teach(home, stream(20))
    target = tmp_path / "backup"
    first = back_up(home, target)
    again = back_up(home, target)
    assert (again.files, again.copied) == (first.files, 0)
    with Writer(home) as writer:
        writer.submit(Learn("a secret word zxqv", added=["secret"])).result(30)
        assert writer.snapshot(21)
    third = back_up(home, target)
    assert third.copied > 0
    assert third.copied_bytes < third.bytes
    with Writer(home) as writer:
        writer.change(Forget([21])).result(60)
    assert back_up(home, target).removed > 0
    names = {
        entry["sha256"] for entry in json.loads((target / "manifest.json").read_text())["content"]["files"].values()
    }
    assert {path.name for path in (target / "objects").iterdir()} == names
    restore(target, tmp_path / "again")
    for folder in (target, tmp_path / "again"):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert not any(b"zxqv" in path.read_bytes() for path in files)
    with pytest.raises(BackupError, match="record 22 forgot earlier ones; restore to record 22 or a later one"):
        restore(target, tmp_path / "before", 21)


def test_undone_records_and_other_bases_are_restored(home, tmp_path):
    teach(home, stream(20))
    with Writer(home) as writer:
        writer.change(Undo([19, 20])).result(60)
        with new_base(home) as path:
            save_base(base(), path)
            writer.change(Refit(path.name)).result(60)
        expected = writer.replica.state_hash(), writer.replica.sequence
    back_up(home, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    assert hash_at_end(tmp_path / "again") == expected


@pytest.mark.parametrize("damage", ["flip", "remove", "manifest", "outside"])
def test_a_damaged_backup_is_refused(home, tmp_path, damage):
    teach(home, stream(10))
    target = tmp_path / "backup"
    back_up(home, target)
    manifest = target / "manifest.json"
    largest = max((target / "objects").iterdir(), key=lambda path: path.stat().st_size)
    if damage == "flip":
        raw = bytearray(largest.read_bytes())
        raw[len(raw) // 2] ^= 1
        largest.write_bytes(raw)
    elif damage == "remove":
        largest.unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text().replace('"sequence": 10', '"sequence": 11'))
    else:
        content = json.loads(manifest.read_text())["content"]
        content["files"]["archive/../../evil"] = content["files"].pop("journal.sqlite")
        checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        manifest.write_text(json.dumps({"checksum": checksum, "content": content}))
    with pytest.raises(BackupError, match=r"damaged|does not belong to a home"):
        restore(target, tmp_path / "again")
    assert not any((tmp_path / "again").glob("*"))
    assert not (tmp_path / "evil").exists()


def test_other_directories_and_journals_are_refused(home, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(BackupError, match="is not empty and is not a backup"):
        back_up(home, tmp_path / "full")
    with pytest.raises(BackupError, match="is not a backup"):
        restore(tmp_path / "full", tmp_path / "again")
    back_up(home, tmp_path / "backup")
    with pytest.raises(BackupError, match="is the backup of another journal"):
        back_up(Home.create(tmp_path / "other", base()), tmp_path / "backup")


@pytest.mark.skipif(os.name == "nt", reason="processes are killed by a signal")
def test_a_backup_that_is_killed_leaves_the_one_before_it(home, tmp_path):
    hashes = teach(home, stream(20))
    target = tmp_path / "backup"
    back_up(home, target)
    for number in range(6):
        with Writer(home) as writer:
            writer.submit(Learn(f"word{number}", added=["more"])).result(30)
            writer.snapshot(writer.replica.sequence)
        command = [sys.executable, "-m", "abound", "backup", str(home.path), str(target)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 180
        before = {path.name for path in (target / "objects").iterdir()}
        while process.poll() is None and time.monotonic() < deadline:
            if number % 2 and {path.name for path in (target / "objects").iterdir()} != before:
                break
            if not number % 2 and time.monotonic() > deadline - 60 + 0.4 + 0.1 * number:
                break
        process.send_signal(signal.SIGKILL)
        process.wait(120)
        restored = restore(target, tmp_path / f"again-{number}")
        assert restored.sequence >= 20
        if restored.sequence == 20:
            assert hash_at_end(tmp_path / f"again-{number}") == (hashes[-1], 20)
    assert back_up(home, target).sequence == 26
    assert not list((target / "objects").glob(".*"))


@pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")
def test_a_backup_under_load_has_the_state_of_its_sequence(home, tmp_path):
    hashes, target = {}, tmp_path / "backup"
    with Running(home.path, "--snapshot-every", 10) as server, server.client() as client:
        backups = []
        for number in range(60):
            client.learn(f"text {number} of many words", added=[f"label{number % 7}"])
            if number % 15 == 5:
                command = [sys.executable, "-m", "abound", "backup", str(home.path), str(target), "--json"]
                backups.append(
                    subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                )
            answer = client.model(state_hash=True)
            hashes[answer["sequence"]] = answer["state_hash"]
        for process in backups:
            err = process.communicate(timeout=120)[1]
            assert process.returncode == 0 or "another process is writing a backup" in err, err
        last = back_up(home, target).sequence
    assert last == 60
    for upto in (60, 41, 7):
        restored = restore(target, tmp_path / f"again-{upto}", upto)
        assert hash_at_end(tmp_path / f"again-{upto}") == (hashes[upto], restored.sequence)
