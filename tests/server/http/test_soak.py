"""Many requests: memory and descriptors stay where they are."""

import random
import sys
import threading

import pytest

from abound.server import Home
from tests.server.http.running import Running
from tests.server.http.watching import descriptors, resident, slope
from tests.server.streams import LABELS, WORDS, base

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
CLIENTS = 4
BATCHED = 20  # requests that one connection sends before it reads the answers


@pytest.mark.parametrize("requests", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_memory_and_descriptors_are_flat(tmp_path, requests):
    home = Home.create(tmp_path / "home", base())
    done, samples, problems = [0] * CLIENTS, [], []

    def run(number, port):
        import http.client
        import json
        import socket

        chance = random.Random(number)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                reader = connection.makefile("rb")
                while done[number] < requests // CLIENTS:
                    bodies = []
                    for _ in range(BATCHED):
                        text = " ".join(chance.choices(WORDS, k=6))
                        # The model does not grow: the same words and labels again and again.
                        path, body = "/v1/rank", {"text": text, "explain": chance.random() < 0.1}
                        if chance.random() < 0.005:
                            path, body = "/v1/learn", {"text": text, "accepted": [chance.choice(LABELS)]}
                        raw = json.dumps(body).encode()
                        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        bodies.append(head.encode() + b"Content-Length: %d\r\n\r\n" % len(raw) + raw)
                    connection.sendall(b"".join(bodies))
                    for _ in bodies:
                        status = reader.readline()
                        assert status.startswith(b"HTTP/1.1 200"), status
                        headers = http.client.parse_headers(reader)
                        reader.read(int(headers["content-length"]))
                    done[number] += BATCHED
                reader.close()
        except Exception as error:
            problems.append(error)

    with Running(home.path) as server:
        threads = [threading.Thread(target=run, args=(number, server.port)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            threads[0].join(requests / 200_000)
            samples.append((sum(done), resident(server.process.pid), descriptors(server.process.pid)))
        for thread in threads:
            thread.join()
        assert problems == []
        assert sum(done) == requests
        assert server.stop() == 0
    settled = [sample for sample in samples if requests * 0.3 < sample[0] < requests]
    a_million = slope([n for n, _, _ in settled], [memory for _, memory, _ in settled]) * 1e6
    grown = settled[-1][1] - settled[0][1]
    files = [n for _, _, n in settled]
    print(
        f"{requests:,} requests: {settled[0][1] / 1e6:.1f} MB to {settled[-1][1] / 1e6:.1f} MB, "
        f"{a_million / 1e6:+.2f} MB a million, {min(files)} to {max(files)} descriptors"
    )
    assert max(files) <= files[0] + 2
    assert grown < 4e6
    assert requests < 1_000_000 or a_million < 1e6
