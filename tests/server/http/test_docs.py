"""The pages about the server name all endpoints, fields and settings."""

import re
import time

import httpx

from abound.server import Home
from abound.server.http import limits
from abound.server.http.app import ENDPOINTS
from tests.server.http.running import ROOT, Running
from tests.server.streams import base

PAGE = "".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("server", "integrations"))


def test_every_endpoint_and_its_scope_is_named():
    for endpoint in ENDPOINTS:
        rows = [line for line in PAGE.splitlines() if f"`{endpoint.path}`" in line and line.startswith("| ")]
        assert any(endpoint.method in row for row in rows), endpoint.name
        if endpoint.scope:
            assert any(f"| {endpoint.scope.name.lower()} |" in row for row in rows), endpoint.name


def test_every_field_that_may_be_asked_is_named():
    for endpoint in ENDPOINTS:
        for name in getattr(endpoint.request, "__struct_fields__", ()):
            if endpoint.path != "/v1/feedback" and not endpoint.media_types:
                assert re.search(rf"`{name}(=1|=true)?`", PAGE), (endpoint.name, name)


def test_every_option_is_named():
    import typer.main

    from abound.cli.app import app

    options = [option for one in typer.main.get_command(app).commands["serve"].params for option in one.opts]
    for option in options:
        assert not option.startswith("--") or f"`{option}" in PAGE, option


def test_limits_are_as_they_are():
    assert (limits.LEARN_BYTES, limits.BATCH_BYTES, limits.EXPLAIN_BYTES) == (1 << 20, 8 << 20, 64 << 10)
    for words in ("| 1 MiB |", "| 8 MiB |", "| 64 KiB |", f"| {limits.MAX_DEPTH} |", f"| {limits.MAX_FEATURES:,} |"):
        assert words in PAGE


def test_every_metric_is_named_and_exists(tmp_path):
    section = PAGE.partition("\n## Metrics\n")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(abound_\w+)`", section))
    Home.create(tmp_path / "library" / "m.served", base())
    exposed = set()
    opinion = ("--second-opinion", "http://127.0.0.1:9", "--second-opinion-timeout", 1)  # no service answers there
    one = (tmp_path / "library" / "m.served", "--workers", 2, *opinion)
    for arguments in (one, (f"--library={tmp_path / 'library'}",)):
        with Running(*arguments) as server:
            place = "/v1/models/m" if len(arguments) == 1 else "/v1"
            learned = httpx.post(f"{server.url}{place}/learn", json={"text": "apple", "added": ["fruit"]}, timeout=60)
            assert learned.status_code == 200
            time.sleep(1.5)  # workers have reported their counts
            text = httpx.get(f"{server.url}/metrics", timeout=60).text
            named = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)
            samples = {name: kind for name, kind in named if re.search(rf"^{name}(_\w+)?[{{ ]", text, re.MULTILINE)}
            assert len(samples) == len(named), "a metric has no value"
            exposed |= samples.keys()
            assert re.search(r"^abound_commit_seconds_count({model=\"m\"})? 1.0$", text, re.MULTILINE)
            assert re.search(r"^abound_snapshot_records({model=\"m\"})? [12].0$", text, re.MULTILINE)
    assert documented == exposed
