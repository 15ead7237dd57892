"""What a service manager such as systemd and this process tell each other: sockets that it passes, and notifications.

The protocol is that of sd_listen_fds(3) and sd_notify(3).
"""

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import Sequence

FIRST = 3  # the first descriptor that is passed
COUNT, PROCESS, NAMES = "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"
CHECK = "--check"  # the option that makes `abound serve` check its options and end
CHECK_SECONDS = 120.0
UNKNOWN = "unknown"  # the name that systemd gives a socket without one


def passed_sockets() -> tuple[list[socket.socket], str]:
    """Return the listening sockets that were passed to this process, and the name of the first one.

    The variables are removed, so that no child takes the sockets for its own.
    """
    process, count, names = (os.environ.pop(name, "") for name in (PROCESS, COUNT, NAMES))
    if process != str(os.getpid()) or not count.isdigit():
        return [], UNKNOWN
    sockets = []
    for descriptor in range(FIRST, FIRST + int(count)):
        try:
            sockets.append(socket.socket(fileno=descriptor))
        except OSError as error:
            raise OSError(error.errno, f"{COUNT} names descriptor {descriptor}, which is not a socket") from None
        os.set_inheritable(descriptor, False)
    return sockets, names.split(":")[0] or UNKNOWN


def pass_sockets(sockets: Sequence[socket.socket], name: str) -> None:
    """Leave sockets to the program that replaces this one: only `restart_program` may follow."""
    # Copies above the range first: a socket may have a number of the range itself.
    high = [_duplicate_above(listener.fileno(), FIRST + len(sockets)) for listener in sockets]
    for descriptor, source in enumerate(high, start=FIRST):
        os.dup2(source, descriptor, inheritable=True)
    os.environ |= {
        PROCESS: str(os.getpid()),
        COUNT: str(len(sockets)),
        NAMES: ":".join([name] * len(sockets)),
    }


def _duplicate_above(descriptor: int, lowest: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)


async def check_program() -> str | None:
    """Return why this program would not start again with its arguments and present files; None if it would."""
    environment = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
    process = await asyncio.create_subprocess_exec(
        *_command(),
        CHECK,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), CHECK_SECONDS)
    except TimeoutError:
        process.kill()
        return f"the check of its options took longer than {CHECK_SECONDS:.0f} seconds"
    if not process.returncode:
        return None
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("abound: ") if lines else f"its options are refused with code {process.returncode}"


def _command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]


def restart_program() -> None:
    """Replace this program by a new start of it in the same process, with the same arguments."""
    os.execv(sys.executable, _command())  # noqa: S606  its own command


def notify(state: str) -> None:
    """Tell the service manager the state of this process, if there is one that wants to know it.

    Parameters
    ----------
    state : str
        `READY=1`, `RELOADING=1` or `STOPPING=1`.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return
    if state.startswith("RELOADING"):
        state += f"\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"
    if address.startswith("@"):  # an abstract address
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.sendto(state.encode(), address)
