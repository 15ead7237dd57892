"""Boot systemd in a directory, as process 1 of new namespaces."""

import os
import shlex
import subprocess
import time
from pathlib import Path

from tests.deploy.image import DEVICES, UNSHARE

GROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))  # where control groups of version 2 may be mounted


def groups():
    """Return the directory of the control groups of version 2; None if this machine has none."""
    return next((path for path in GROUPS if (path / "cgroup.procs").exists()), None)


class Booted:
    """A system with systemd, which has no network but its loopback.

    Parameters
    ----------
    root : path
        A Debian system with the package systemd.
    """

    def __init__(self, root: Path, log: Path) -> None:
        self._root = root
        self._group = groups() / f"abound-{os.getpid()}"
        self._group.mkdir(exist_ok=True)
        command = shlex.join([*UNSHARE, "--cgroup", "--uts", "--ipc", "sh", "-ec", self._boot()])
        script = f"echo 0 > {self._group}/cgroup.procs; exec {command}"
        with log.open("wb") as file:
            self._outer = subprocess.Popen(["sh", "-ec", script], stdout=file, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 60
        while self.run("systemctl is-system-running", check=False).stdout.strip() not in ("running", "degraded"):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)

    def _boot(self) -> str:
        root = self._root
        devices = "".join(f"touch {root}/dev/{one}; mount --bind /dev/{one} {root}/dev/{one}\n" for one in DEVICES)
        return (
            f"ip link set lo up\nmount --bind {root} {root}\nmount -t proc proc {root}/proc\n"
            f"mount -t sysfs -o ro sysfs {root}/sys\nmount -t cgroup2 cgroup2 {root}/sys/fs/cgroup\n"
            f"mount -t tmpfs -o mode=755 tmpfs {root}/dev\n{devices}ln -s /proc/self/fd {root}/dev/fd\n"
            f"mount -t tmpfs -o mode=755 tmpfs {root}/run\n"
            f"exec env -i container=other chroot {root} /lib/systemd/systemd --system --log-target=journal"
        )

    @property
    def pid(self) -> int:
        """The number of its first process, outside of it."""
        outer = self._outer.pid
        children = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        return int(children[0])

    def command(self, script: str) -> list[str]:
        """Return a command that runs a shell script in it."""
        entered = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid", "--cgroup"]
        return [
            *entered,
            "chroot",
            str(self._root),
            "env",
            "-i",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "sh",
            "-ec",
            script,
        ]

    def run(self, script: str, *, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a shell script in it."""
        try:
            done = subprocess.run(self.command(script), capture_output=True, text=True, timeout=300)
        except (IndexError, FileNotFoundError):  # it has no process yet
            assert not check
            return subprocess.CompletedProcess(script, 1, "", "")
        assert done.returncode == 0 or not check, f"{script}\n{done.stdout}{done.stderr}"
        return done

    def stop(self) -> None:
        """Kill it with all its processes."""
        self._outer.kill()
        self._outer.wait(30)
        deadline = time.monotonic() + 30
        while (self._group / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        for folder in sorted(self._group.rglob("*/"), reverse=True):
            folder.rmdir()
        self._group.rmdir()
