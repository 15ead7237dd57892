"""The documents of a directory, and the files beside them that name their labels."""

import os
import stat
from collections import Counter
from typing import NamedTuple

from abound.data.documents.kinds import SUFFIXES, Kind, kind_of
from abound.data.formats import Malformed, undecodable, without_bom

LABEL_SUFFIXES = (".tsv", ".key")  # as in Annif's directories; .tsv comes first
SHOWN = 6  # reasons in a message


class Entry(NamedTuple):
    """A document of a directory.

    Attributes
    ----------
    id : str
        The path in the directory, with slashes.
    path : str
    kind : Kind or None
        None for a stream, whose content decides.
    labels : str or None
        The file of its labels.
    size : int
        Bytes.
    """

    id: str
    path: str
    kind: Kind | None
    labels: str | None
    size: int


class NoDocuments(ValueError):  # noqa: N818  named by what was found
    """A directory has no documents."""


class Listing(NamedTuple):
    """The documents of a directory sorted by id, and a sentence on skipped files, or None."""

    entries: list[Entry]
    skipped: str | None


def list_documents(directory: str) -> Listing:
    """List the documents of a directory and its subdirectories.

    Hidden files are ignored, and links to directories are not followed, because they may form a loop.

    Raises
    ------
    NoDocuments
        If there is none.
    """
    files, links = _files(directory)
    known = set(files)
    entries, skipped, used = [], Counter[str](), set[str]()
    for file in files:
        stem, suffix = os.path.splitext(file)
        kind, status = kind_of(file), os.stat(file) if os.path.exists(file) else None
        if suffix.lower() in LABEL_SUFFIXES:
            continue
        if status is None or not stat.S_ISREG(status.st_mode):
            skipped["not regular files"] += 1
        elif kind is None:
            skipped[suffix.lower() or "no suffix"] += 1
        elif suffix.lower() != ".txt" and f"{stem}.txt" in known:
            skipped["with a .txt of the same name"] += 1  # which is the text that was extracted from it
        else:
            labels = next((stem + end for end in LABEL_SUFFIXES if stem + end in known), None)
            used |= {stem + end for end in LABEL_SUFFIXES}
            entries.append(Entry(_id(file, directory), file, kind, labels, status.st_size))
    orphans = sum(os.path.splitext(file)[1].lower() in LABEL_SUFFIXES and file not in used for file in files)
    skipped += Counter({"labels without a document": orphans, "links to directories": links})
    if not entries:
        found = f"; it has {len(files):,} other files" if files else ""
        raise NoDocuments(f"there is no document in the directory {directory!r} ({', '.join(SUFFIXES)}){found}")
    return Listing(sorted(entries), _sentence(directory, +skipped))


def _files(directory: str) -> tuple[list[str], int]:
    """Return the paths of all files that are not hidden, and the number of links to directories."""
    files, links = [], 0

    def refuse(error: OSError) -> None:
        raise error

    for folder, subfolders, names in os.walk(directory, onerror=refuse):
        links += sum(not _is_hidden(name) and os.path.islink(os.path.join(folder, name)) for name in subfolders)
        subfolders[:] = [name for name in subfolders if not _is_hidden(name)]
        files += [os.path.join(folder, name) for name in names if not _is_hidden(name)]
    return files, links


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "~$"))  # ~$ is the lock file of a document that is open in Word


def _id(file: str, directory: str) -> str:
    path = os.path.relpath(file, directory).replace(os.sep, "/")
    return os.fsencode(path).decode("utf-8", "backslashreplace")  # a file name may be any bytes


def _sentence(directory: str, skipped: "Counter[str]") -> str | None:
    if not skipped:
        return None
    total, kinds = sum(skipped.values()), skipped.most_common(SHOWN)
    listed = ", ".join(f"{what}: {count:,}" for what, count in kinds) + (", ..." if len(skipped) > SHOWN else "")
    return f"skipped {total:,} {'file' if total == 1 else 'files'} of {directory} ({listed})"


def read_labels(path: str) -> tuple[str, ...]:
    """Return the labels of a file: the first column of each line, without angle brackets.

    Raises
    ------
    Malformed
        If the file is not UTF-8.
    """
    labels = []
    with open(path, "rb") as stream:
        try:
            for raw in without_bom(stream):
                columns = (column.strip() for column in raw.decode().split("\t"))
                label = next(filter(None, columns), "")
                label = label[1:-1] if label.startswith("<") and label.endswith(">") else label
                if label:
                    labels.append(label)
        except UnicodeDecodeError as error:
            raise Malformed(undecodable(error)) from None
    return tuple(dict.fromkeys(labels))
