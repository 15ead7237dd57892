"""The commands of CONTRIBUTING's first hour work as printed, in a Debian with Python only."""

import itertools
import re
import shutil
import subprocess
import time

import pytest

from tests.deploy.image import PATH, bootstrap, in_root, pip_settings
from tests.deploy.test_image import needs_root
from tests.server.http.running import ROOT

SECONDS = 1800  # for all commands; the text says what they take on a quiet machine
SERVED = "mkdocs serve"
# Wait until the site is there, and stop it.
PREVIEW = (
    "{command} > /tmp/site.log 2>&1 & "
    "until python -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:8000')\" 2> /dev/null; "
    "do kill -0 $! || { cat /tmp/site.log; exit 1; }; sleep 1; done; kill $!"
)


def commands() -> list[str]:
    """Return the commands of the first hour, in order."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    part = text.split("## Your first hour\n", 1)[1].split("\n## ", 1)[0]
    return re.findall("^    (.*)$", part, flags=re.MULTILINE)


def test_the_commands_are_found():
    found = commands()
    assert found[1] == "git clone ADDRESS abound"
    assert found[-1].endswith(SERVED)
    assert len(found) > 10


@pytest.mark.slow
@needs_root
def test_the_first_hour_in_an_empty_debian(tmp_path):
    root = bootstrap("python:3.11-slim-bookworm", tmp_path, packages="ca-certificates,python3")
    shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
    variables, shared = pip_settings()
    lines = ["set -e", "cd /root", "apt-get update -qq"]
    for command in commands():
        run = command.replace("ADDRESS", str(ROOT))
        if command.endswith(SERVED):
            run = PREVIEW.replace("{command}", run)
        elif command.startswith("! "):  # set -e ignores it
            run = f"if {run.removeprefix('! ')}; then exit 1; fi"
        quoted = command.replace("'", "'\\''")
        lines += [f"printf '\\n@%s %s\\n' \"$(date +%s)\" '{quoted}'", run]
    script = "\n".join([*lines, "printf '\\n@%s the end\\n' \"$(date +%s)\""])
    env = {**variables, "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    started = time.monotonic()
    command = in_root(root, [*shared, str(ROOT)], script)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    marks = [(int(at), what) for at, what in re.findall(r"^@(\d+) (.*)$", done.stdout, flags=re.MULTILINE)]
    for (at, what), (after, _) in itertools.pairwise(marks):
        print(f"{after - at:5} s  {what}")
    print(f"{time.monotonic() - started:5.0f} s  all")
    assert len(marks) == len(commands()) + 1
