"""Create the virtual environments of the peers, each from its requirements file."""

import subprocess
import sys
from pathlib import Path

from benchmarks import sets

HERE = Path(__file__).parent


def requirements(environment: str) -> str:
    """Return the requirements of an environment."""
    return (HERE / "requirements" / f"{environment}.txt").read_text()


def interpreter(environment: str | None, where: Path = HERE) -> str:
    """Return the Python of an environment, which is created and filled on first use from a file in `requirements`."""
    if environment is None:
        return sys.executable
    wanted = where / "requirements" / f"{environment}.txt"
    folder = sets.CACHE.parent / "environments" / environment
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        print(f"creating the environment of {environment} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "-r", wanted], check=True)
        stamp.write_text(wanted.read_text())
    return str((folder / "bin" / "python").absolute())
