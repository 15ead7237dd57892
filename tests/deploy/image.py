"""Follow a Dockerfile in plain directories, and run the result as a container would, without a registry or a daemon.

A stage is a copy of a Debian system that debootstrap made; Debian's Python stands in for that of the base image. Each
RUN step is run in it by chroot. The result is started in new namespaces, with a read-only root.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUITE = {"python:3.11-slim-bookworm": "bookworm"}  # Debian releases whose Python has the version of a base image
PACKAGES = "ca-certificates,python3,python3-dev,python3-venv"  # the base image has the headers, too
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNSHARE = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private")
DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass
class Stage:
    """A stage of a Dockerfile: its base, its steps, and the settings of the image."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = "0:0"
    workdir: str = "/"
    settings: dict[str, Any] = field(default_factory=dict)


def parse(text: str) -> list[Stage]:
    """Return the stages of a Dockerfile."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    stages: list[Stage] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name or str(len(stages))))
        else:
            stages[-1].steps.append((word, rest.strip()))
    return stages


def mirror() -> str:
    """Return the address from which this machine installs Debian packages."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    return next(address for address in found if "security" not in address)


def pip_settings() -> tuple[dict[str, str], list[str]]:
    """Return pip's settings on this machine as variables, and the files that they name."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, str] = {}
    for name, value in re.findall(r"^(?:global|user|site|:env:)\.([a-z-]+)='(.*)'$", listed, flags=re.MULTILINE):
        found["PIP_" + name.upper().replace("-", "_")] = value
    words = [word.removeprefix("file://") for value in found.values() for word in value.split()]
    words = [word.removesuffix("/simple") for word in words]  # the files of an index are beside its pages
    return found, [word for word in words if word.startswith("/") and Path(word).exists()]


def bootstrap(base: str, folder: Path, packages: str = PACKAGES) -> Path:
    """Install the Debian system that stands in for a base image."""
    root = folder / "base"
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", SUITE[base], str(root), mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for name in ("python", "python3"):
        (root / "usr/local/bin" / name).symlink_to("/usr/bin/python3")
    return root


def in_root(root: Path, shared: Iterable[str], script: str, *, user: str = "0:0") -> list[str]:
    """Return a command that runs a shell script in a root directory, with some files of this machine."""
    mounts = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
    for path in shared:
        inside = root / path[1:]
        if Path(path).is_dir():
            inside.mkdir(parents=True, exist_ok=True)
        elif not inside.exists():
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.touch()
        mounts.append(f"mount --bind {path} {inside}")
    command = f"{' && '.join(mounts)} && exec chroot --userspec={user} {root} /bin/sh -c {shlex.quote(script)}"
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", command]


class Builder:
    """Build the stages of a Dockerfile in directories of a folder.

    Parameters
    ----------
    context : path
        The directory from which COPY takes files.
    ignored : iterable of str
        Names that COPY leaves out.
    """

    def __init__(self, context: Path, folder: Path, base: Path, ignored: list[str]) -> None:
        self._context = context
        self._folder = folder
        self._base = base
        self._ignored = ignored
        self._variables, self._shared = pip_settings()
        self.roots: dict[str, Path] = {}

    def build(self, stage: Stage) -> Path:
        """Run all steps of a stage, and return its root directory."""
        root = self.roots[stage.name] = self._folder / f"stage-{stage.name}"
        subprocess.run(["cp", "--archive", self._base, root], check=True)
        shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
        for word, rest in stage.steps:
            getattr(self, f"_{word.lower()}")(stage, root, rest)
        return root

    def _run(self, stage: Stage, root: Path, rest: str) -> None:
        env = {**stage.env, **self._variables, "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
        unshared = in_root(root, self._shared, f"cd {stage.workdir} && {rest}", user=stage.user)
        done = subprocess.run(unshared, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"

    def _copy(self, stage: Stage, root: Path, rest: str) -> None:
        words = rest.split()
        source = self._context
        if words[0].startswith("--from="):
            source = self.roots[words.pop(0).removeprefix("--from=")]
        *names, target = words
        into = root / target[1:] if target.startswith("/") else root / stage.workdir[1:] / target
        for name in names:
            found = source / name.lstrip("/")
            if found.is_dir():
                ignore = shutil.ignore_patterns(*self._ignored) if source == self._context else None
                shutil.copytree(found, into, symlinks=True, ignore=ignore, dirs_exist_ok=True)
            else:
                goal = into / found.name if rest.endswith("/") else into
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, goal)

    def _env(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        for word in shlex.split(rest):
            name, _, value = word.partition("=")
            stage.env[name] = re.sub(r"\$(\w+)", lambda found: stage.env[found[1]], value)

    def _workdir(self, stage: Stage, root: Path, rest: str) -> None:
        stage.workdir = rest
        (root / rest[1:]).mkdir(parents=True, exist_ok=True)

    def _user(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.user = rest

    def _entrypoint(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.settings["entrypoint"] = json.loads(rest)

    def _cmd(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.settings["cmd"] = json.loads(rest)

    def _healthcheck(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.settings["healthcheck"] = json.loads(rest.partition("CMD ")[2])

    def _volume(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.settings["volume"] = rest

    def _stopsignal(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.settings["stopsignal"] = rest

    def _expose(self, stage: Stage, root: Path, rest: str) -> None:  # noqa: ARG002
        stage.settings["expose"] = rest


class Container:
    """A process in namespaces of its own: it is process 1, has no network but its loopback, and a read-only root.

    Only the volume and /tmp can be written.
    """

    def __init__(self, stage: Stage, root: Path, volume: Path, arguments: list[str], log: Path) -> None:
        self._stage = stage
        self._root = root
        command = [*stage.settings["entrypoint"], *(arguments or stage.settings["cmd"])]
        self.log = log
        with log.open("wb") as file:
            self._outer = subprocess.Popen(
                [*UNSHARE, "sh", "-ec", f"{self._mounts(volume)}\nexec {shlex.join(self._inside(command))}"],
                env={"PATH": os.environ["PATH"]},
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def _mounts(self, volume: Path) -> str:
        root = self._root
        devices = "".join(f"touch {root}/dev/{name}; mount --bind /dev/{name} {root}/dev/{name}\n" for name in DEVICES)
        return (
            f"ip link set lo up\nmount --bind {root} {root}\n"
            f"mount --bind {volume} {root}{self._stage.settings['volume']}\n"
            f"mount -t tmpfs -o mode=1777,noexec,nosuid tmpfs {root / 'tmp'}\nmount -t proc proc {root}/proc\n"
            f"mount -t tmpfs -o mode=755 tmpfs {root}/dev\n{devices}mount -o remount,bind,ro {root}\n"
            f"mount -o remount,ro {root}/dev"
        )

    def _inside(self, command: list[str]) -> list[str]:
        """Return a command that runs another one in the root as the image's user, without capabilities."""
        user, group = self._stage.user.split(":")
        limits = ["--reuid", user, "--regid", group, "--clear-groups", "--bounding-set=-all"]
        env = [f"{name}={value}" for name, value in self._stage.env.items()]
        entered = ["env", "-i", *env, "sh", "-c", f'cd {self._stage.workdir} && exec "$@"', "sh", *command]
        return ["chroot", str(self._root), "setpriv", *limits, "--no-new-privs", *entered]

    @property
    def pid(self) -> int:
        """The number of its first process, outside of it."""
        outer, deadline = self._outer.pid, time.monotonic() + 30
        while not (children := Path(f"/proc/{outer}/task/{outer}/children").read_text().split()):
            assert self._outer.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return int(children[0])

    def execute(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in it, as `docker exec` does."""
        entered = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid", *self._inside(list(command))]
        return subprocess.run(entered, capture_output=True, text=True, timeout=120)

    def curl(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run this machine's curl in its network."""
        command = ["nsenter", f"--target={self.pid}", "--net", "curl", "--silent", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def wait(self, seconds: float) -> int:
        """Wait for its end, and return its exit code."""
        return self._outer.wait(seconds)

    def kill(self) -> None:
        """Kill it with all its processes."""
        if self._outer.poll() is None:
            self._outer.kill()
            self._outer.wait(30)
