"""A server that was killed answers again; see `restart.py` for how long that takes with many records."""

import sys

import pytest

from abound.server import Writer
from tests.server.http.restart import measured, prepared
from tests.server.streams import base, stream, trained

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_replayed_is_not_replayed_again(tmp_path, workers):
    home = prepared(tmp_path / "home", base(), stream(300))
    found = measured(home, "--workers", workers, "--snapshot-every", 200)
    assert list(found) == ["all records", "killed at once", "killed after a snapshot"]
    assert home.snapshots() == [0, 200]
    with Writer(home) as writer:
        assert writer.replica.snapshot == 200
        assert writer.replica.state_hash() == trained(stream(300)).state_hash()
