"""Damage to saved models that their checksums do not show."""

import numpy as np

from abound.store import directory


def broken(saved, key, change):
    """Change one array, with valid checksums."""
    model = directory.read_model(saved)
    arrays = {name: np.array(array) for name, array in model.arrays.items()}
    arrays[key] = change(arrays[key])
    content = {k: v for k, v in model.content.items() if k not in ("format", "format_version", "files", "state_hash")}
    directory.write_model(saved, content, arrays)


def resealed(content):
    """Give a manifest's content the state hash that its files have."""
    if isinstance(content["files"], dict):
        sums = {key: str(entry["sha256"]) for key, entry in content["files"].items()}
        content["state_hash"] = directory._combine(str(content["kind"]), sums)


def with_field(field, at, value):
    def change(array):
        (array[field] if field else array)[at] = value
        return array

    return change
