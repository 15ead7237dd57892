"""Create the virtual environments of the peers, each from its requirements file."""

import subprocess
import sys
from pathlib import Path

from benchmarks import sets

HERE = Path(__file__).parent


def requirements(environment: str) -> str:
    """Return the requirements of an environment."""
    return (HERE / "requirements" / f"{environment}.txt").read_text()


def interpreter(environment: str | None) -> str:
    """Return the Python of an environment, which is created and filled on first use."""
    if environment is None:
        return sys.executable
    folder = sets.CACHE.parent / "environments" / environment
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != requirements(environment):
        print(f"creating the environment of {environment} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        wanted = HERE / "requirements" / f"{environment}.txt"
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "-r", wanted], check=True)
        stamp.write_text(requirements(environment))
    return str(folder / "bin" / "python")
