"""The formats to damage: our model directory and journal, and the same arrays or rows in other formats.

A subject writes its files once and returns a hash of their content. The hash of damaged files is compared with it: an
equal hash is harmless, a different one is silently wrong, and an error means that the damage was noticed.
"""

import hashlib
import random
import shutil
import sqlite3
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from abound import Tagger
from abound.errors import AboundError, DamagedJournal
from abound.store import read_model
from abound.store.journal import Journal
from abound.store.journal.records import Learn

N_TEXTS = 600


class Subject(ABC):
    """Files of one format."""

    name: ClassVar[str]
    version: ClassVar[str] = ""
    errors: ClassVar[tuple[type[BaseException], ...]] = (Exception,)  # that report damage
    changes_files: ClassVar[bool] = False  # whether reading the files changes them

    @abstractmethod
    def make(self, folder: Path) -> None:
        """Write the files."""

    @abstractmethod
    def content(self, folder: Path) -> str:
        """Return a hash of the content of the files, or raise an error."""


def texts() -> tuple[list[str], list[list[str]]]:
    """Return texts of random words, and labels that depend on them."""
    chance = random.Random(0)
    words = [f"word{i}" for i in range(800)]
    found = [" ".join(chance.choices(words, k=12)) for _ in range(N_TEXTS)]
    return found, [[f"label {int(text.split()[0][4:]) % 50}"] for text in found]


def tagger() -> Tagger:
    """Return a small model of about 40 arrays, some of them longer than a disk block."""
    found, labels = texts()
    model = Tagger(ngrams=1).fit(found, labels, label_names={f"label {i}": f"Label number {i}" for i in range(50)})
    for text, label in zip(found[:60], labels, strict=False):
        model.feedback(text, label)
    return model


def arrays() -> dict[str, np.ndarray]:
    """Return the arrays of the model, in types that every format has."""
    found = {}
    for name, source in tagger().arrays().items():
        blocks = [source] if isinstance(source, np.ndarray) else list(source.blocks())
        whole = np.concatenate(blocks)
        found[name] = np.ascontiguousarray(whole if whole.dtype.names is None else whole.view(np.int64))
    return found


def digest(found: dict[str, Any]) -> str:
    """Hash arrays by name."""
    total = hashlib.sha256()
    for name in sorted(found):
        array = np.asarray(found[name])
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


class ModelDirectory(Subject):
    """Our model directory: manifest and .npy files."""

    name = "abound model directory"
    errors = (AboundError,)

    def make(self, folder: Path) -> None:
        tagger().save(folder)

    def content(self, folder: Path) -> str:
        model = read_model(folder)
        return Tagger.from_model(model).state_hash() + digest(model.arrays)


class JournalFiles(Subject):
    """Our journal: SQLite with a checksum per record, half of it in the write-ahead log, and a commit marker."""

    name = "abound journal"
    errors = (AboundError,)
    changes_files = True

    def __init__(self, n_records: int = 160) -> None:
        self._n_records = n_records

    def make(self, folder: Path) -> None:
        folder.mkdir()
        living = folder.parent / "living"
        living.mkdir(exist_ok=True)
        with Journal.create(living / "journal.sqlite") as journal:
            found, labels = texts()
            for i in range(0, self._n_records, 8):
                if i == self._n_records // 16 * 8:
                    journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    journal._connection.execute("PRAGMA wal_autocheckpoint=0")
                rows = zip(found[i : i + 8], labels[i : i + 8], strict=True)
                journal.append([(Learn(text, added=label), f"key {text}") for text, label in rows])
            for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite.head"):  # as after a crash
                shutil.copy(living / name, folder / name)
        shutil.rmtree(living)

    def content(self, folder: Path) -> str:
        with Journal(folder / "journal.sqlite", write=True) as journal:
            for words in journal.damage():
                raise DamagedJournal(words)
            total = hashlib.sha256()
            for stored in journal.read(journal.base):
                total.update(repr(stored).encode())
            return f"{journal.id} {journal.last} {total.hexdigest()}"


class Safetensors(Subject):
    """The arrays in one safetensors file."""

    name = "safetensors"

    def __init__(self) -> None:
        import safetensors

        type(self).version = safetensors.__version__

    def make(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        folder.mkdir()
        save_file(arrays(), folder / "model.safetensors")

    def content(self, folder: Path) -> str:
        from safetensors.numpy import load_file

        return digest(load_file(folder / "model.safetensors"))


class Npz(Subject):
    """The arrays in one .npz file, whose zip members have a CRC."""

    name = "numpy .npz"
    version = np.__version__

    def make(self, folder: Path) -> None:
        folder.mkdir()
        np.savez(folder / "model.npz", **arrays())

    def content(self, folder: Path) -> str:
        with np.load(folder / "model.npz", allow_pickle=False) as found:
            return digest({name: found[name] for name in found.files})


class Npy(Subject):
    """The arrays in plain .npy files without a manifest."""

    name = "numpy .npy"
    version = np.__version__

    def make(self, folder: Path) -> None:
        folder.mkdir()
        for name, array in arrays().items():
            np.save(folder / f"{name}.npy", array)

    def content(self, folder: Path) -> str:
        return digest({path.stem: np.load(path, allow_pickle=False) for path in sorted(folder.iterdir())})


class Joblib(Subject):
    """The arrays in one joblib file, which is a pickle."""

    name = "joblib"

    def __init__(self) -> None:
        import joblib

        type(self).version = joblib.__version__

    def make(self, folder: Path) -> None:
        import joblib

        folder.mkdir()
        joblib.dump(arrays(), folder / "model.joblib")

    def content(self, folder: Path) -> str:
        import joblib

        return digest(joblib.load(folder / "model.joblib"))


class SQLite(Subject):
    """The journal's records in SQLite alone, half of them in the write-ahead log, with its integrity check."""

    name = "SQLite, integrity_check"
    version = sqlite3.sqlite_version
    changes_files = True

    def make(self, folder: Path) -> None:
        folder.mkdir()
        living = folder.parent / "living.sqlite"
        connection = sqlite3.connect(living, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE record (sequence INTEGER PRIMARY KEY, key TEXT, payload BLOB)")
        found, labels = texts()
        for i in range(160):
            if i == 80:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("PRAGMA wal_autocheckpoint=0")
            payload = repr((found[i], labels[i])).encode()
            connection.execute("INSERT INTO record VALUES (?, ?, ?)", (i, f"key {found[i]}", payload))
        for suffix in ("", "-wal"):
            shutil.copy(f"{living}{suffix}", folder / f"records.sqlite{suffix}")
        connection.close()
        for path in folder.parent.glob("living.sqlite*"):
            path.unlink()

    def content(self, folder: Path) -> str:
        connection = sqlite3.connect(folder / "records.sqlite")
        try:
            connection.text_factory = bytes
            (words,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if words != b"ok":
                raise sqlite3.DatabaseError(words)
            rows = connection.execute("SELECT * FROM record ORDER BY sequence").fetchall()
            return hashlib.sha256(repr(rows).encode()).hexdigest()
        finally:
            connection.close()


SUBJECTS: dict[str, type[Subject]] = {
    "model": ModelDirectory,
    "journal": JournalFiles,
    "safetensors": Safetensors,
    "npz": Npz,
    "npy": Npy,
    "joblib": Joblib,
    "sqlite": SQLite,
}
