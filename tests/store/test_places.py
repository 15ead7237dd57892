"""Places that all machines reach: model directories are there whole or not at all, whatever is interrupted."""

import contextlib
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading

import pytest

import abound
from abound.errors import AboundError, DamagedModel, ModelError, PlaceUnavailable, UnknownFormat
from abound.store import places, read_model
from abound.store.directory import MANIFEST, MANIFEST_MAX_BYTES, data_files
from abound.store.locks import lock_directory
from abound.store.places import open_place
from tests.rankers.streams import stream

fsspec = pytest.importorskip("fsspec")
NAME = "snapshots/00000000000000000012"
posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def files_of(path):
    return {one.name: one.read_bytes() for one in path.iterdir()}


class Mounted:
    """A place in a directory, by its path or a URL."""

    def __init__(self, path, where=None):
        self.path, self.where = path, where or str(path)

    def files(self, name):
        folder = self.path / name
        return {one.name for one in folder.iterdir()} if folder.is_dir() else set()

    def change(self, file, content):
        (self.path / file).parent.mkdir(exist_ok=True)
        (self.path / file).write_bytes(content)

    def delete(self, file):
        (self.path / file).unlink()

    def read(self, file):
        return (self.path / file).read_bytes()


class Memory:
    """A place in fsspec's memory."""

    def __init__(self):
        self._root = f"/{secrets.token_hex(8)}"
        self.where = f"memory:/{self._root}"
        self._files = fsspec.filesystem("memory")

    def files(self, name):
        path = f"{self._root}/{name}"
        return (
            {one.rpartition("/")[2] for one in self._files.ls(path, detail=False)}
            if self._files.exists(path)
            else set()
        )

    def change(self, file, content):
        self._files.pipe_file(f"{self._root}/{file}", content)

    def delete(self, file):
        self._files.rm_file(f"{self._root}/{file}")

    def read(self, file):
        return self._files.cat_file(f"{self._root}/{file}")


@pytest.fixture(params=["directory", "file", "memory"])
def kind(request, tmp_path):
    if request.param == "memory":
        return Memory()
    path = tmp_path / "shared place"
    return Mounted(path, path.as_uri() if request.param == "file" else None)


@pytest.fixture
def place(kind):
    return open_place(kind.where)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    abound.FeatureFocus().fit(*stream()).save(path)
    return path


class Breaks:
    """Let a place's transfers fail from one of them on; it counts the files that were begun."""

    def __init__(self, monkeypatch, place, method, after, error=None):
        real, self.begun, self.broken = getattr(place, method), 0, True
        error = OSError("the connection was lost") if error is None else error
        lock = threading.Lock()

        def fail(*arguments):
            with lock:
                self.begun += 1
                fails = self.broken and self.begun > after
            if fails:
                raise error
            real(*arguments)

        monkeypatch.setattr(place, method, fail)


def test_a_model_is_the_same_on_another_machine(kind, place, model, tmp_path):
    assert place.names("snapshots") == []
    place.put(NAME, model)
    place.put("snapshots/00000000000000000003", model)
    place.put("bases/refit-1", model)
    other = open_place(kind.where)
    assert other.names("snapshots") == ["snapshots/00000000000000000003", NAME]
    assert other.names("bases") == ["bases/refit-1"]
    assert other.manifest(NAME) == read_model(model).content
    other.get(NAME, tmp_path / "new" / "model")
    assert files_of(tmp_path / "new" / "model") == files_of(model)
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["model"]
    assert kind.files(NAME) == set(files_of(model))


def test_folders_may_be_nested_and_foreign_entries_are_ignored(kind, place, model):
    place.put("journal-1/snapshots/1", model)
    assert place.names("") == []
    place.put("first", model)
    kind.change("journal-1/snapshots/note.txt", b"a file")
    kind.change("journal-1/snapshots/.trash/note.txt", b"a file")
    assert place.names("") == ["first"]
    assert place.names("journal-1") == []
    assert place.names("journal-1/snapshots") == ["journal-1/snapshots/1"]
    assert place.incomplete("journal-1/snapshots") == []


@posix
def test_what_is_written_is_private(model, tmp_path):
    place = open_place(str(tmp_path / "place"))
    place.put(NAME, model)
    place.get(NAME, tmp_path / "new" / "model")
    for root in (tmp_path / "place", tmp_path / "new"):
        for path in [root, *root.rglob("*")]:
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_complete_directory_is_not_put_again(kind, place, model, monkeypatch):
    place.put(NAME, model)
    breaks = Breaks(monkeypatch, place, "_upload", 0)
    place.put(NAME, model)
    assert breaks.begun == 0


@pytest.mark.parametrize("after", [0, 3, -1])
def test_an_interrupted_put_is_ignored_and_completed(kind, place, model, tmp_path, monkeypatch, after):
    n_files = len(files_of(model))
    after = n_files - 1 if after < 0 else after  # the last one is the manifest
    breaks = Breaks(monkeypatch, place, "_upload", after)
    with pytest.raises(PlaceUnavailable, match="cannot be written: the connection was lost"):
        place.put(NAME, model)
    assert len(kind.files(NAME)) == after
    assert MANIFEST not in kind.files(NAME)
    other = open_place(kind.where)
    assert other.names("snapshots") == []
    assert other.incomplete("snapshots") == ([NAME] if after else [])
    for ask in (other.manifest, lambda name: other.get(name, tmp_path / "model")):
        with pytest.raises(UnknownFormat, match=f"has no complete model directory {NAME}"):
            ask(NAME)
    breaks.broken, breaks.begun = False, 0
    place.put(NAME, model)
    assert breaks.begun == n_files - after  # what is there is not sent again
    assert (other.names("snapshots"), other.incomplete("snapshots")) == ([NAME], [])
    other.get(NAME, tmp_path / "model")
    assert files_of(tmp_path / "model") == files_of(model)


def test_the_manifest_is_written_last_and_removed_first(kind, place, model, monkeypatch):
    order, upload, remove = [], place._upload, place._remove_file
    monkeypatch.setattr(place, "_upload", lambda source, target: (order.append(target), upload(source, target)))
    place.put(NAME, model)
    assert order[-1] == f"{NAME}/{MANIFEST}"
    assert sorted(order) == sorted(f"{NAME}/{file}" for file in files_of(model))
    monkeypatch.setattr(place, "_remove_file", lambda name: (order.append(name), remove(name)))
    Breaks(monkeypatch, place, "_remove_directory", 0)
    with pytest.raises(PlaceUnavailable, match="connection was lost"):
        place.remove(NAME)
    other = open_place(kind.where)
    assert kind.files(NAME) == set(files_of(model)) - {MANIFEST}
    assert (other.names("snapshots"), other.incomplete("snapshots")) == ([], [NAME])
    other.remove(NAME)
    assert (kind.files(NAME), other.incomplete("snapshots")) == (set(), [])
    other.remove(NAME)  # nothing is there


def test_a_cut_file_of_an_interrupted_put_is_replaced(kind, place, model, tmp_path, monkeypatch):
    breaks = Breaks(monkeypatch, place, "_upload", 3)
    with pytest.raises(PlaceUnavailable):
        place.put(NAME, model)
    file = sorted(kind.files(NAME))[0]
    kind.change(f"{NAME}/{file}", b"cut")
    breaks.broken = False
    place.put(NAME, model)
    place.get(NAME, tmp_path / "model")
    assert files_of(tmp_path / "model") == files_of(model)


def test_a_file_is_visible_only_when_it_is_complete(kind, place, model, tmp_path, monkeypatch):
    """A copy that ends in the middle of a file leaves no file of that name."""
    if isinstance(place, places.MountedPlace):
        monkeypatch.setattr("shutil.copyfileobj", lambda _, target: (target.write(b"cut"), fail()))
    else:
        real = place._files.put_file
        monkeypatch.setattr(place._files, "put_file", lambda _, target: (real(cut, target), fail()), raising=False)
    cut = str(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(b"cut")

    def fail():
        raise OSError(28, "No space left on device")

    with pytest.raises(PlaceUnavailable, match="No space left on device"):
        place.put(NAME, model)
    assert kind.files(NAME) == set()


@pytest.mark.parametrize("after", [0, 1, 4, -1])
def test_an_interrupted_get_leaves_nothing(kind, place, model, tmp_path, monkeypatch, after):
    place.put(NAME, model)
    target = tmp_path / "home" / "model"
    breaks = Breaks(monkeypatch, place, "_download", len(files_of(model)) - 1 if after < 0 else after)
    with pytest.raises(PlaceUnavailable, match="cannot be read: the connection was lost"):
        place.get(NAME, target)
    assert list(target.parent.iterdir()) == []
    breaks.broken = False
    place.get(NAME, target)
    assert files_of(target) == files_of(model)


def test_after_an_error_no_further_file_is_copied(model, tmp_path, monkeypatch):
    place = open_place(str(tmp_path / "place"))
    monkeypatch.setattr(places, "N_TRANSFERS", 1)
    breaks = Breaks(monkeypatch, place, "_upload", 1)
    with pytest.raises(PlaceUnavailable):
        place.put(NAME, model)
    assert breaks.begun == 2 < len(files_of(model))


KILLED = """
import os, signal, sys
from abound.store.places import open_place
place = open_place(sys.argv[1])
real, begun = place._download, []
def download(source, target):
    begun.append(source)
    if len(begun) > 3:
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
place._download = download
place.get(sys.argv[2], sys.argv[3])
"""


def hold(path, begun, ended):
    with lock_directory(path):
        begun.set()
        ended.wait(60)


@pytest.mark.skipif(os.name != "posix", reason="locks of directories")
def test_what_a_killed_process_left_is_removed_by_the_next_get(model, tmp_path):
    place = open_place(str(tmp_path / "place"))
    place.put(NAME, model)
    home = tmp_path / "home"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "place"), NAME, str(home / "model")]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    (leftover,) = home.iterdir()
    assert leftover.name.startswith(places.GETTING)
    busy = home / f"{places.GETTING}of-another-process"
    begun, ended = threading.Event(), threading.Event()
    other = threading.Thread(target=hold, args=(busy, begun, ended))
    other.start()
    assert begun.wait(30)
    try:
        place.get(NAME, home / "model")
        assert {one.name for one in home.iterdir()} == {"model", busy.name}
    finally:
        ended.set()
        other.join(30)
    assert files_of(home / "model") == files_of(model)


def damage_content(kind, model):
    file = max((one for one in model.iterdir() if one.name != MANIFEST), key=lambda one: one.stat().st_size).name
    raw = bytearray(kind.read(f"{NAME}/{file}"))
    raw[-1] ^= 1
    kind.change(f"{NAME}/{file}", bytes(raw))
    return f"{NAME} at .* is damaged: {file} does not match its checksum"


def damage_length(kind, model):
    file = data_files(read_model(model).content)[0]
    kind.change(f"{NAME}/{file}", kind.read(f"{NAME}/{file}")[:-1])
    return f"{NAME} at .* is damaged: the size of {file}"


def damage_missing(kind, model):
    file = data_files(read_model(model).content)[0]
    kind.delete(f"{NAME}/{file}")
    return f"{NAME} at .* has no {file}"


def damage_manifest(kind, model):
    kind.change(f"{NAME}/{MANIFEST}", (model / MANIFEST).read_bytes().replace(b'"kind"', b'"kinb"'))
    return f"{NAME} at .* does not match its checksum"


def damage_size(kind, model):
    kind.change(f"{NAME}/{MANIFEST}", b" " * (MANIFEST_MAX_BYTES + 1))
    return f"manifest.json of {NAME} at .* is larger than"


@pytest.mark.parametrize("damage", [damage_content, damage_length, damage_missing, damage_manifest, damage_size])
def test_a_damaged_directory_is_refused(kind, place, model, tmp_path, damage):
    place.put(NAME, model)
    message = damage(kind, model)
    with pytest.raises(DamagedModel, match=message):
        place.get(NAME, tmp_path / "home" / "model")
    assert list((tmp_path / "home").iterdir()) == []


def test_a_manifest_that_names_files_elsewhere_is_refused(kind, place, model, tmp_path):
    place.put(NAME, model)
    outer = json.loads((model / MANIFEST).read_bytes())
    outer["content"]["files"]["../../secret"] = next(iter(outer["content"]["files"].values()))
    canonical = json.dumps(outer["content"], sort_keys=True, separators=(",", ":")).encode()
    outer["checksum"] = hashlib.sha256(canonical).hexdigest()
    kind.change(f"{NAME}/{MANIFEST}", json.dumps(outer).encode())
    with pytest.raises(DamagedModel, match="invalid entry for a file"):
        place.get(NAME, tmp_path / "home" / "model")


def test_a_damaged_local_directory_is_not_put(kind, place, model, tmp_path):
    for name, raw in files_of(model).items():
        (tmp_path / "model").mkdir(exist_ok=True)
        (tmp_path / "model" / name).write_bytes(raw)
    file = data_files(read_model(model).content)[-1]
    raw = files_of(model)[file]
    (tmp_path / "model" / file).write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    with pytest.raises(DamagedModel, match="does not match its checksum"):
        place.put(NAME, tmp_path / "model")
    assert kind.files(NAME) == set()
    with pytest.raises(ModelError, match="there is no model"):
        place.put(NAME, tmp_path / "nowhere")


def test_an_existing_directory_is_not_replaced(place, model, tmp_path):
    place.put(NAME, model)
    (tmp_path / "model").mkdir()
    with pytest.raises(FileExistsError, match="exists; name a new directory"):
        place.get(NAME, tmp_path / "model")


def test_concurrent_puts_of_one_name_leave_it_intact(kind, model, tmp_path):
    machines = [open_place(kind.where) for _ in range(6)]
    barrier, failed = threading.Barrier(len(machines)), []

    def put(place):
        barrier.wait(30)
        try:
            place.put(NAME, model)
        except AboundError as error:
            failed.append(error)

    threads = [threading.Thread(target=put, args=(place,)) for place in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    machines[0].get(NAME, tmp_path / "model")
    assert files_of(tmp_path / "model") == files_of(model)
    assert kind.files(NAME) == set(files_of(model))


PUT_AND_GET = """
import sys
from abound.store.places import open_place
where, name, model, target = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
place = open_place(where)
place.put(name, model)
place.get(name, target)  # while others may still be writing
"""


def test_processes_put_one_name_and_each_gets_it_whole(model, tmp_path):
    targets = [tmp_path / f"machine-{n}" / "model" for n in range(3)]
    command = [sys.executable, "-c", PUT_AND_GET, str(tmp_path / "place"), NAME, str(model)]
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen([*command, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for target in targets
        ]
        assert [process.stdout.readline() for process in started] == ["ready\n"] * 3
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.wait(60) for process in started] == [0, 0, 0]
    assert all(files_of(target) == files_of(model) for target in targets)
    assert len(list((tmp_path / "place" / NAME).iterdir())) == len(files_of(model))


def test_threads_that_get_the_same_directory_leave_one(model, tmp_path):
    where = str(tmp_path / "place")
    open_place(where).put(NAME, model)
    target, outcomes = tmp_path / "home" / "model", []

    def get():
        try:
            open_place(where).get(NAME, target)
            outcomes.append("ok")
        except OSError:
            outcomes.append("exists")

    threads = [threading.Thread(target=get) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["exists", "exists", "exists", "ok"]
    assert files_of(target) == files_of(model)
    assert [one.name for one in target.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), RuntimeError("an error of the\ndriver")])
def test_errors_of_a_place_are_of_one_class(kind, place, model, tmp_path, monkeypatch, error):
    place.put(NAME, model)
    reason = " ".join(str(error).split()).replace("[", r"\[").replace("]", r"\]")
    for method, call in {
        "_below": lambda: place.names("snapshots"),
        "_sizes": lambda: place.manifest(NAME),
        "_download": lambda: place.get(NAME, tmp_path / "home" / "model"),
        "_upload": lambda: place.put("snapshots/13", model),
        "_remove_file": lambda: place.remove(NAME),
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(place, method, lambda *_: (_ for _ in ()).throw(error))
            with pytest.raises(PlaceUnavailable, match=reason) as caught:
                call()
            assert str(caught.value).startswith(place.name)
    assert issubclass(PlaceUnavailable, ModelError)


@pytest.mark.parametrize("name", ["", "..", "a/../b", "/a", "a/", "a//b", ".hidden", "a b", "a\\b"])
def test_names_cannot_lead_elsewhere(place, model, tmp_path, name):
    for call in (
        place.manifest,
        place.remove,
        lambda one: place.put(one, model),
        lambda one: place.get(one, tmp_path / "x"),
    ):
        with pytest.raises(ValueError, match="a name at a place has letters"):
            call(name)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", "a directory or a URL, got an empty string"),
        ("{tmp}/file", r"/file is not a directory"),
        ("{tmp}/nowhere/place", r"there is no directory .*/nowhere"),
        ("file://relative", "has no absolute path; write file:///directory"),
        ("nothing://bucket", "nothing://bucket has the unknown protocol 'nothing'; s3, gs"),
        ("memory://", "memory:// has no path; write memory://bucket/folder"),
    ],
)
def test_a_bad_place_gets_a_sentence(tmp_path, where, message):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ValueError, match=message):
        open_place(where.format(tmp=tmp_path))


def test_what_is_uploaded_at_once_is_not_renamed(model, monkeypatch):
    monkeypatch.setattr(places, "UPLOADS_ARE_ATOMIC", {"memory"})
    memory = Memory()
    place, written = open_place(memory.where), []
    put_file = place._files.put_file
    monkeypatch.setattr(
        place._files,
        "put_file",
        lambda source, target: (written.append(target), put_file(source, target)),
        raising=False,
    )
    place.put(NAME, model)
    assert {path.rpartition("/")[2] for path in written} == memory.files(NAME) == set(files_of(model))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(ImportError, match="a place at abfs:// needs adlfs: pip install adlfs"):
        open_place("abfs://bucket/folder")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ImportError, match="a place at s3:// needs s3fs: pip install s3fs"):
        open_place("s3://bucket/folder")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"needs fsspec: pip install 'abound\[fsspec\]'"):
        open_place("s3://bucket/folder")


def test_a_directory_needs_no_package(monkeypatch, model, tmp_path):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    open_place(str(tmp_path / "place")).put(NAME, model)


def test_a_password_is_in_no_message():
    pytest.importorskip("fsspec.implementations.ftp")
    with pytest.raises((ValueError, PlaceUnavailable)) as caught:
        open_place("ftp://abound:geheim@127.0.0.1:1/snapshots").names("snapshots")
    assert "geheim" not in str(caught.value)
    assert "ftp://127.0.0.1:1/snapshots" in str(caught.value)
