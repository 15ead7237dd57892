"""Simulate a disk that loses power: what it may contain after each recorded operation, and what it must.

Data written to a file are safe after a sync of the file, and a name (created, moved or removed) after a sync of its
directory. Any subset of the operations that are not safe may survive.
"""

import shutil
from pathlib import Path
from typing import NamedTuple


class Operation(NamedTuple):
    what: str
    path: str
    data: bytes
    offset: int


def read_log(path):
    raw, at, found = Path(path).read_bytes(), 0, []
    while at < len(raw):
        end = raw.index(b"\n", at)
        what, length, offset, name = raw[at:end].decode().split(" ", 3)
        at = end + 1 + int(length)
        found.append(Operation(what, name, raw[end + 1 : at], int(offset)))
    return found


class Disk:
    """Files as numbered bodies, and names that point to them, in two versions: safe and pending."""

    def __init__(self, root):
        self.names = {}
        self.bodies = []
        self.pending_data = []  # for each body, the operations since its last sync
        self.pending_names = []  # operations on names whose directory has not been synced since
        for path in sorted(Path(root).rglob("*")):
            if path.is_dir():
                self.names[str(path)] = None
            else:
                self.names[str(path)] = self._new(path.read_bytes())
        self.hoped = dict(self.names)

    def _new(self, body=b""):
        self.bodies.append(bytearray(body))
        self.pending_data.append([])
        return len(self.bodies) - 1

    def apply(self, op):
        if op.what in ("write", "truncate"):
            self.pending_data[self.hoped[op.path]].append(op)
        elif op.what == "sync":
            self._sync(op.path)
        else:
            body = self._new() if op.what == "create" else None
            self.pending_names.append((op, body))
            change(self.hoped, op, body)

    def _sync(self, path):
        body = self.hoped.get(path)
        if body is not None:
            for op in self.pending_data[body]:
                write(self.bodies[body], op)
            self.pending_data[body] = []
            return
        kept = []
        for op, made in self.pending_names:
            if str(Path(op.path).parent) == path:
                change(self.names, op, made)
            else:
                kept.append((op, made))
        self.pending_names = kept

    def image(self, target, root, luck):
        """Write what is safe, and the part of the rest that `luck` selects, under another root."""
        names = dict(self.names)
        for op, made in self.pending_names:
            if luck():
                change(names, op, made)
        shutil.rmtree(target, ignore_errors=True)
        Path(target).mkdir()
        for name in sorted(names):
            path = Path(target) / Path(name).relative_to(root)
            if not path.parent.is_dir():
                continue  # in a directory whose name was lost
            if names[name] is None:
                path.mkdir(exist_ok=True)
            elif not name.endswith("-shm"):
                body = bytearray(self.bodies[names[name]])
                for op in self.pending_data[names[name]]:
                    if luck():
                        write(body, op)
                path.write_bytes(body)


def change(names, op, made):
    if op.what in ("create", "mkdir"):
        names[op.path] = made
    elif op.what in ("unlink", "rmdir"):
        names.pop(op.path, None)
    elif op.path in names:
        names[op.data.decode()] = names.pop(op.path)


def write(body, op):
    if op.what == "truncate":
        del body[op.offset :]
        body.extend(bytes(op.offset - len(body)))
    else:
        body.extend(bytes(max(0, op.offset - len(body))))
        body[op.offset : op.offset + len(op.data)] = op.data
