"""The Dockerfile's steps, run in plain Debian systems, make a server that works with a read-only root."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deploy.image import Builder, Container, parse
from tests.server.http.running import ROOT

TOOLS = ("debootstrap", "unshare", "nsenter", "setpriv", "ip", "curl")
needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or any(shutil.which(tool) is None for tool in TOOLS),
    reason=f"needs root on Debian, and {', '.join(TOOLS)}",
)
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
TITLE = "Growing roses in a cold climate"


def test_the_dockerfile_is_understood():
    build, final = parse(DOCKERFILE.read_text())
    assert (build.base, build.name, final.base) == (final.base, "build", "python:3.11-slim-bookworm")
    assert [word for word, _ in final.steps].count("HEALTHCHECK") == 1
    known = {name[1:].upper() for name in dir(Builder) if name.startswith("_") and not name.startswith("__")}
    assert {word for stage in (build, final) for word, _ in stage.steps} <= known


def ready(container: Container, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while container.curl("--fail", "http://127.0.0.1:8000/readyz").returncode != 0:
        assert time.monotonic() < deadline, container.log.read_text()
        time.sleep(0.1)


@pytest.mark.slow
@needs_root
def test_the_image_serves_from_a_read_only_root(built, tmp_path):
    builder, image = built
    root = builder.roots[image.name]
    volume = tmp_path / "volume"
    volume.mkdir()
    data = ROOT / "examples" / "finna" / "titles.jsonl"
    subprocess.run([sys.executable, "-m", "abound", "fit", data, "--model", volume / "subjects"], check=True)
    subprocess.run(["chown", "-R", image.user, volume], check=True)

    adding = Container(
        image, root, volume, ["keys", "add", "/data/subjects", "me", "--scope", "admin"], tmp_path / "add"
    )
    assert adding.wait(60) == 0, adding.log.read_text()
    key = next(line for line in adding.log.read_text().splitlines() if line.startswith("abound_"))

    container = Container(image, root, volume, ["serve", "/data/subjects", "--workers", "2"], tmp_path / "log")
    try:
        ready(container)
        said = [f"Authorization: Bearer {key}", "http://127.0.0.1:8000/v1/"]

        def call(path, body):
            answer = container.curl("--json", json.dumps(body), "--header", said[0], said[1] + path)
            return json.loads(answer.stdout)

        health = container.execute(*image.settings["healthcheck"])
        assert (health.returncode, health.stderr) == (0, "")
        assert call("learn", {"text": TITLE, "added": ["rose growing"]})["sequence"] == 1
        assert call("rank", {"text": TITLE, "k": 1})["labels"][0]["label"] == "rose growing"
        refused = container.curl(
            "--json", "{}", "--output", "/dev/null", "--write-out", "%{http_code}", said[1] + "rank"
        )
        assert refused.stdout == "401"
        check_rights(container, image)

        container.execute("sh", "-c", "kill -USR2 1")
        time.sleep(1)
        ready(container)
        assert call("rank", {"text": TITLE, "k": 1})["sequence"] == 1

        os.kill(container.pid, getattr(signal, image.settings["stopsignal"]))
        assert container.wait(40) == 0, container.log.read_text()
    finally:
        container.kill()
    verified = Container(image, root, volume, ["journal", "verify", "/data/subjects.served"], tmp_path / "verify")
    assert verified.wait(60) == 0, verified.log.read_text()


def check_rights(container, image):
    """Check that the server is another user, without rights, and can write to nothing but the volume and /tmp."""
    state = Path(f"/proc/{container.pid}/status").read_text()
    facts = dict(line.split(":\t", 1) for line in state.splitlines() if ":\t" in line)
    assert facts["Uid"].split()[0] == image.user.split(":")[0]
    assert {int(facts[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")} == {0}
    assert facts["NoNewPrivs"] == "1"
    mounts = [line.split() for line in Path(f"/proc/{container.pid}/mounts").read_text().splitlines()]
    writable = [mount[1] for mount in mounts if "rw" in mount[3].split(",") and mount[2] != "proc"]
    assert sorted(path for path in writable if not path.startswith("/dev/")) == ["/data", "/tmp"]  # noqa: S108
    tried = container.execute("sh", "-c", "touch /opt/abound/x || touch /x || touch /etc/x")
    assert tried.stderr.count("Read-only file system") == 3
    assert container.execute("sh", "-c", "command -v gcc pip").returncode != 0
