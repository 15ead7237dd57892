"""Run README's commands in an empty environment, and print how long each step takes: python -m docs_build.newcomer."""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps() -> list[str]:
    """Return README's commands in order."""
    return BLOCK.findall((ROOT / "README.md").read_text())


def main() -> None:
    """Run the steps in one shell, as a user would type them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", ROOT, f"{folder}/abound"], check=True)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        path = f"{folder}/venv/bin:{os.environ['PATH']}"
        script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\nset -e\n" + '\necho "== $SECONDS s"\n'.join(steps())
        subprocess.run(["bash", "-c", script], cwd=f"{folder}/abound", env={**os.environ, "PATH": path}, check=True)
        wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"\nin total: {wall:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time")


if __name__ == "__main__":
    main()
