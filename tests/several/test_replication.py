"""Failovers of a pair of PostgreSQL servers, on which the tests of several machines are built."""

import threading
import time

import psycopg


def test_acknowledged_commits_survive_failovers(pair):
    url = pair.url([node.port for node in pair.nodes]) + "?target_session_attrs=read-write&connect_timeout=5"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE number (number integer PRIMARY KEY)")
    acknowledged, ends = [], threading.Event()

    def write():
        number = 0
        while not ends.is_set():
            try:
                with psycopg.connect(url, autocommit=True) as connection:
                    while not ends.is_set():
                        number += 1
                        connection.execute("INSERT INTO number VALUES (%s)", (number,))
                        acknowledged.append(number)
            except psycopg.Error:
                time.sleep(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    before = []
    try:
        for _ in range(2):
            enough, deadline = len(acknowledged) + 50, time.monotonic() + 60
            while len(acknowledged) < enough:
                assert time.monotonic() < deadline, "nothing is committed"
                time.sleep(0.05)
            old = pair.primary
            without_primary, without_commits = pair.fail_over()
            assert pair.standby is old
            before.append(len(acknowledged))
            assert 0 < without_primary <= without_commits
    finally:
        ends.set()
        writer.join()
    with psycopg.connect(url, autocommit=True) as connection:
        kept = {number for (number,) in connection.execute("SELECT number FROM number")}
    assert set(acknowledged) <= kept
    assert len(acknowledged) >= before[1] >= before[0] + 50
