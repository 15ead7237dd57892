"""Fixtures of several machines."""

import tempfile

import pytest

from tests.store.postgres import programs


@pytest.fixture
def pair():
    """Two PostgreSQL servers, of which one replicates the other."""
    if programs() is None:
        pytest.skip("needs PostgreSQL")
    pytest.importorskip("psycopg")
    from tests.several.replication import Pair

    # Not in the folder of the tests, which no other user may enter.
    place = tempfile.TemporaryDirectory(prefix="abound-postgres-", dir="/tmp", ignore_cleanup_errors=True)
    with place as folder, Pair(folder) as one:
        yield one
