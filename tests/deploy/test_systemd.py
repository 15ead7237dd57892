"""The units of deploy/ in a booted systemd, installed by the commands of docs/operations.md."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deploy.booted import Booted, groups
from tests.deploy.image import Stage
from tests.server.http.running import ROOT

TOOLS = ("debootstrap", "unshare", "nsenter", "ip")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0 or not all(map(shutil.which, TOOLS)),
        reason=f"needs root on Debian, and {', '.join(TOOLS)}",
    ),
]
URL = "http://127.0.0.1:8000"
# It asks until its file appears, and reports how many answers had which status; 000 is a connection without an answer.
ASKING = (
    f"while [ ! -e /run/done ]; do curl -s -m 60 -o /dev/null -w '%{{http_code}}\\n' -H \"Authorization: Bearer $KEY\" "
    f'--json \'{{"text": "roses"}}\' {URL}/v1/rank || true; done | sort | uniq -c'
)


def install_commands():
    """Return the documented commands after the package is installed."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.partition("## systemd")[2].partition("\n## ")[0]
    first, *others = re.search(r"```bash\n(.*?)```", section, re.DOTALL)[1].splitlines()
    assert first.startswith("python3 -m venv /opt/abound")
    return "\n".join(others)


@pytest.fixture(scope="module")
def system(built, tmp_path_factory):
    builder, _ = built
    if groups() is None:
        pytest.skip("this machine has no control groups of version 2")
    stage = Stage("", "systemd", [("COPY", "--from=build /opt/abound /opt/abound")])
    packages = "systemd procps curl logrotate"
    stage.steps.append(("RUN", f"apt-get update && apt-get install --yes --no-install-recommends {packages}"))
    root = builder.build(stage)
    shutil.copytree(ROOT / "deploy", root / "source/deploy")
    data = ROOT / "examples" / "finna" / "titles.jsonl"
    subprocess.run([sys.executable, "-m", "abound", "fit", data, "--model", root / "source/subjects"], check=True)
    booted = Booted(root, tmp_path_factory.mktemp("systemd") / "log")
    try:
        yield booted
    finally:
        booted.stop()


@pytest.fixture(scope="module")
def key(system):
    said = system.run(f"cd /source\n{install_commands()}").stdout
    return next(line for line in said.splitlines() if line.startswith("abound_"))


def show(system, name):
    return system.run(f"systemctl show --value --property={name} abound.service").stdout.strip()


def asked_while(system, key, script):
    """Return the number of answers by status while a script runs."""
    system.run("rm -f /run/done")
    asking = [
        subprocess.Popen(system.command(f"KEY={key}; {ASKING}"), stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    time.sleep(1)
    system.run(script)
    time.sleep(2)
    system.run("touch /run/done")
    counts = {}
    for one in asking:
        for line in one.communicate(timeout=120)[0].splitlines():
            number, status = line.split()
            counts[status] = counts.get(status, 0) + int(number)
    return counts


def test_the_service_is_ready_and_limited(system, key):
    assert show(system, "ActiveState") == "active"
    assert show(system, "StatusErrno") == "0"
    assert '"ready"' in system.run(f"curl -s {URL}/readyz").stdout
    ranked = system.run(
        f"curl -s --json '{{\"text\": \"roses\"}}' -H 'Authorization: Bearer {key}' {URL}/v1/rank"
    ).stdout
    assert '"labels":[{' in ranked
    status = system.run(f"cat /proc/{show(system, 'MainPID')}/status").stdout
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert (facts["NoNewPrivs"], facts["Seccomp"], int(facts["CapBnd"], 16)) == ("1", "2", 0)
    assert facts["Uid"].split()[0] != "0"


def test_a_reload_restarts_the_server_without_refusing_a_request(system, key):
    before = show(system, "MainPID")
    counts = asked_while(system, key, "systemctl reload abound.service; sleep 3")
    assert counts.keys() == {"200"}, counts
    assert show(system, "MainPID") == before
    assert show(system, "ActiveState") == "active"


def test_a_restart_leaves_the_socket_open(system, key):
    before = show(system, "MainPID")
    counts = asked_while(system, key, "systemctl restart abound.service")
    assert counts.keys() == {"200"}, counts
    assert show(system, "MainPID") != before


def test_a_crash_is_followed_by_a_start(system, key):
    before = show(system, "MainPID")
    counts = asked_while(system, key, f"kill -KILL {before}; sleep 5")
    assert "200" in counts
    assert counts.keys() <= {"200", "000"}, counts  # the requests under way had no answer
    assert show(system, "MainPID") not in (before, "0")


def test_the_timer_backs_up(system, key):
    assert "abound-backup.timer" in system.run("systemctl list-timers --no-pager").stdout
    system.run("systemctl start abound-backup.service")
    system.run("systemctl start abound-backup.service")  # again, into the same directory
    system.run("/opt/abound/bin/abound restore /var/backups/abound/subjects /root/restored")


def test_the_log_file_is_rotated(system, key):
    system.run(
        "sed -i 's/^#log_file/log_file/; s/^#access_log = false/access_log = true/' /etc/abound/abound.toml\n"
        "cp /source/deploy/logrotate.conf /etc/logrotate.d/abound; systemctl restart abound.service\n"
        f"curl -s -o /dev/null {URL}/v1/first; logrotate --force /etc/logrotate.d/abound; sleep 1\n"
        f"curl -s -o /dev/null {URL}/v1/second; sleep 1"
    )
    folder = Path("/var/log/abound")
    first, second = (system.run(f"cat {folder}/{name}").stdout for name in ("abound.log.1", "abound.log"))
    assert ("/v1/first" in first, "/v1/second" in first) == (True, False)
    assert ("/v1/first" in second, "/v1/second" in second) == (False, True)
