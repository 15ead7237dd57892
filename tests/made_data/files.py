"""Compressed files of lines."""

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_lines(folder: Path, name: str, lines: Iterable[str]) -> dict[str, int]:
    """Write lines, compressed if the name says so, and return their number by file."""
    path, found = folder / name, list(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(line + "\n" for line in found).encode()
    path.write_bytes(lzma.compress(content, preset=0) if path.suffix == ".xz" else content)
    return {name: len(found)}


def write_objects(folder: Path, name: str, objects: Iterable[dict[str, Any]]) -> dict[str, int]:
    return write_lines(folder, name, (json.dumps(one, ensure_ascii=False) for one in objects))
