"""Fixtures of journals in PostgreSQL."""

import tempfile

import pytest

from tests.store.postgres import Cluster, PostgresJournals, programs


@pytest.fixture(scope="module")
def cluster():
    if programs() is None:
        pytest.skip("needs PostgreSQL")
    # Not in the folder of the tests, which no other user may enter.
    place = tempfile.TemporaryDirectory(prefix="abound-postgres-", dir="/tmp", ignore_cleanup_errors=True)
    with place as folder, Cluster(folder) as one:
        yield one


@pytest.fixture
def database(cluster, tmp_path):
    """A database without a journal."""
    return PostgresJournals(cluster, tmp_path)
