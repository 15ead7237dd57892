"""A server that is stopped drops no request."""

import http.client
import json
import sys
import threading
import time

import pytest

from abound.server import Home
from tests.server.http.spawner import Spawner, free_port
from tests.server.streams import base

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="connections are turned away by a packet filter")
BODY = json.dumps({"text": "a fast red apple"})


class Keeper(threading.Thread):
    """A client that keeps its connection for as long as the server lets it, and counts what it met."""

    def __init__(self, port, number):
        super().__init__(daemon=True)
        self.port = port
        self.number = number
        self.ended = False
        self.statuses = {}
        self.connections = 0
        self.refused = 0
        self.early = 0  # answered by a server that was still starting
        self.cut_off = []

    def run(self):
        connection, count = None, 0
        while not self.ended:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
                try:
                    connection.connect()
                except ConnectionRefusedError:  # between two servers: it was never accepted
                    self.refused += 1
                    connection = None
                    time.sleep(0.005)
                    continue
                self.connections += 1
            try:
                path, body = "/v1/rank", BODY
                if count % 10 == self.number % 10:
                    path, body = "/v1/learn", json.dumps({"text": "a fast red apple", "added": ["fruit"]})
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.cut_off.append(repr(error))
                connection.close()
                connection = None
                continue
            if answer.status == 503 and b"the server is starting" in content:
                self.early += 1
                connection.close()  # as its answer demands
                connection = None
                time.sleep(0.005)
                continue
            count += 1
            self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
            if answer.getheader("connection", "").lower() == "close":
                connection.close()
                connection = None
        if connection is not None:
            connection.close()


@pytest.mark.parametrize(
    ("restarts", "clients", "workers"),
    [(3, 16, 1), (1, 16, 2), *(pytest.param(20, 40, n, marks=pytest.mark.slow) for n in (1, 2))],
)
def test_restarts_under_load_cut_nobody_off(tmp_path, restarts, clients, workers):
    home = Home.create(tmp_path / "home", base())
    port = free_port()
    with Spawner() as spawner:
        keepers = []
        for _ in range(restarts):
            server = spawner.start(home.path, port=port, workers=workers)
            if not keepers:
                keepers = [Keeper(port, number) for number in range(clients)]
                for keeper in keepers:
                    keeper.start()
            before = [sum(keeper.statuses.values()) for keeper in keepers]
            ends = time.monotonic() + 180
            while any(sum(k.statuses.values()) < n + 3 for k, n in zip(keepers, before, strict=True)):
                assert time.monotonic() < ends
                time.sleep(0.01)
            assert server.stop() == 0
        for keeper in keepers:
            keeper.ended = True
        for keeper in keepers:
            keeper.join(120)
    cut_off = [words for keeper in keepers for words in keeper.cut_off]
    statuses = {}
    for keeper in keepers:
        for status, count in keeper.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    refused, early = (sum(getattr(keeper, name) for keeper in keepers) for name in ("refused", "early"))
    print(f"{restarts} restarts, {clients} clients, {statuses} answers, {refused} refused, {early} while it started")
    assert cut_off == []
    assert set(statuses) == {200}
