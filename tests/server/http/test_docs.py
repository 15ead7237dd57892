"""The pages about the server name all endpoints, fields and settings."""

import re

from abound.server.http import limits
from abound.server.http.app import ENDPOINTS
from tests.server.http.running import ROOT

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
