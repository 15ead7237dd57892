"""The image, which is built once for all tests that use it."""

import os
from pathlib import Path

import pytest

from tests.deploy.image import Builder, bootstrap, parse
from tests.server.http.running import ROOT


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Build the image, and return its builder and its last stage."""
    folder = tmp_path_factory.mktemp("image")
    stages = parse((ROOT / "deploy" / "Dockerfile").read_text())
    ready = os.environ.get("ABOUND_DEBIAN")  # the directory of an earlier debootstrap
    base = Path(ready) if ready else bootstrap(stages[0].base, folder)
    lines = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    builder = Builder(ROOT, folder, base, [line[3:] for line in lines if line.startswith("**/")])
    for stage in stages:
        builder.build(stage)
    return builder, stages[-1]
