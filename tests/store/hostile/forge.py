"""Malicious models; their checksums are valid if only their content is tested."""

import hashlib
import json

import numpy as np

from abound.store import directory

OWN = ("format", "format_version", "files", "state_hash")


def content_of(path):
    return json.loads((path / "manifest.json").read_text())["content"]


def write_content(path, content, *, checksum=None, reseal=True):
    """Write a manifest with valid checksums, as an attacker could."""
    if reseal and isinstance(content.get("files"), dict):
        sums = {key: str(e.get("sha256")) for key, e in content["files"].items() if isinstance(e, dict)}
        content["state_hash"] = directory._combine(str(content.get("kind")), sums)
    checksum = checksum or hashlib.sha256(directory._canonical(content)).hexdigest()
    (path / "manifest.json").write_text(json.dumps({"checksum": checksum, "content": content}))


def manifest(change, **options):
    """Return an attack on the content of the manifest."""

    def attack(path):
        content = content_of(path)
        change(content)
        write_content(path, content, **options)

    return attack


def raw_manifest(make):
    """Return an attack that writes the manifest's very bytes."""
    return lambda path: (path / "manifest.json").write_bytes(make(path))


def array(key, change):
    """Return an attack on one array; all checksums fit."""

    def attack(path):
        model = directory.read_model(path)
        arrays = {name: np.array(found) for name, found in model.arrays.items()}
        arrays[key] = change(arrays[key])
        content = {name: value for name, value in model.content.items() if name not in OWN}
        directory.write_model(path, content, arrays)

    return attack


def arrays(**changes):
    """Return an attack on several arrays, each given by a function of all of them."""

    def attack(path):
        model = directory.read_model(path)
        found = {name: np.array(each) for name, each in model.arrays.items()}
        for key, change in changes.items():
            found[key] = change(found)
        content = {name: value for name, value in model.content.items() if name not in OWN}
        directory.write_model(path, content, found)

    return attack


def put(at, value, field=None):
    """Return a change of one entry of an array."""

    def change(found):
        (found[field] if field else found)[at] = value
        return found

    return change


def file_of(path, key):
    """Return the file of an array."""
    (found,) = path.glob(f"{key}-*.npy")
    return found


def raw_file(key, make):
    """Return an attack that writes the bytes of an array's file, under a name and checksum that fit them."""

    def attack(path):
        content = content_of(path)
        old = file_of(path, key)
        raw = make(old.read_bytes())
        old.unlink()
        checksum = hashlib.sha256(raw).hexdigest()
        (path / f"{key}-{checksum[:16]}.npy").write_bytes(raw)
        content["files"][key]["sha256"] = checksum
        write_content(path, content)

    return attack
