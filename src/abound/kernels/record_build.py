"""Write the record of a build of the kernels, ``build_record.py``. Meson runs this file; it is not installed.

record_build.py OUTPUT COMPILER SANITIZERS SOURCE...
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path


def digest(sources: Sequence[Path]) -> str:
    """Return 12 hexadecimal digits that change with the name or the text of any source, in any order of the sources."""
    lines = sorted(f"{path.name} {hashlib.sha256(_text(path)).hexdigest()}\n" for path in sources)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def _text(path: Path) -> bytes:
    return path.read_bytes().replace(b"\r\n", b"\n")  # a checkout on Windows has other line ends


def record(compiler: str, sanitizers: str, sources: Sequence[Path]) -> str:
    """Return the text of ``build_record.py``. Equal sources and compilers give equal bytes: it has no date."""
    return (
        '"""How the kernels were built. Written by record_build.py."""\n\n'
        f"COMPILER = {compiler!r}\nSANITIZERS = {('' if sanitizers == 'none' else sanitizers)!r}\n"
        f"SOURCES = {digest(sources)!r}\n"
    )


if __name__ == "__main__":
    _output, _compiler, _sanitizers, *_sources = sys.argv[1:]
    Path(_output).write_text(record(_compiler, _sanitizers, [Path(name) for name in _sources]), encoding="utf-8")
