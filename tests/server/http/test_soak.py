"""Many requests: memory and descriptors stay where they are."""

import http.client
import json
import random
import socket
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
TAUGHT = 5000  # corrections after which a server keeps no more of its history in memory
# A leak of one object a request is at least 16 MB a million. What allocators and SQLite keep varies by half a megabyte.
MOST_A_MILLION = 3e6


@pytest.mark.parametrize("requests", [8_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_memory_and_descriptors_are_flat(tmp_path, requests):
    home = Home.create(tmp_path / "home", base())
    done, samples, problems = [0] * CLIENTS, [], []

    def run(number, port):
        try:
            send(port, requests // CLIENTS, 0.005, random.Random(number), lambda n: done.__setitem__(number, n))
        except Exception as error:
            problems.append(error)

    with Running(home.path) as server:
        send(server.port, min(TAUGHT, requests // 10), 1.0, random.Random("taught"))
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
    half = len(files) // 2  # a snapshot opens some for a moment; if they stay open, the smallest number rises
    print(
        f"{requests:,} requests: {', '.join(f'{megabytes:.1f}' for megabytes in tenths(settled))} MB, "
        f"{a_million / 1e6:+.2f} MB a million, "
        f"{min(files[:half])} to {max(files[:half])}, then {min(files[half:])} to {max(files[half:])} descriptors"
    )
    assert min(files[half:]) <= min(files[:half]) + 2
    assert grown < 4e6
    assert requests < 1_000_000 or a_million < MOST_A_MILLION


def tenths(samples):
    """Return the memory in MB at the beginning of each tenth of the samples, and at their end."""
    return [samples[len(samples) * n // 10][1] / 1e6 for n in range(10)] + [samples[-1][1] / 1e6]


def send(port, requests, share_of_corrections, chance, report=None):
    """Send requests in batches on one connection; all must be answered with 200. The model does not grow."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, connection.makefile("rb") as reader:
        for n in range(BATCHED, requests + 1, BATCHED):
            connection.sendall(b"".join(request(share_of_corrections, chance) for _ in range(BATCHED)))
            for _ in range(BATCHED):
                status = reader.readline()
                assert status.startswith(b"HTTP/1.1 200"), status
                headers = http.client.parse_headers(reader)
                reader.read(int(headers["content-length"]))
            if report is not None:
                report(n)


def request(share_of_corrections, chance):
    """Return a request with the same words and labels again and again."""
    text = " ".join(chance.choices(WORDS, k=6))
    path, body = "/v1/rank", {"text": text, "explain": chance.random() < 0.1}
    if chance.random() < share_of_corrections:
        path, body = "/v1/learn", {"text": text, "accepted": [chance.choice(LABELS)]}
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(raw) + raw
