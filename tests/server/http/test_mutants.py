"""Damaged bodies: each is answered soon, with a 4xx or as a valid request."""

import http.client
import json
import random
import sys
import time

import pytest

from abound.server import Home
from tests.server.http.running import Running
from tests.server.http.watching import resident
from tests.server.streams import base

LONGEST_SECONDS = 10.0  # on a busy machine
MOST_GROWTH = 64 << 20
BODIES = {
    ("POST", "/v1/rank"): {"text": "a red apple", "k": 5, "threshold": 0.1, "explain": True},
    ("POST", "/v1/rank/batch"): {"texts": ["a red apple", "a fast car"], "k": 3},
    ("POST", "/v1/assign"): {"texts": ["a red apple"], "threshold": 0.5},
    ("POST", "/v1/explain"): {"text": "a red apple", "label": "fruit"},
    ("POST", "/v1/learn"): {"text": "a red apple", "accepted": ["fruit"], "rejected": ["sport"], "key": "k"},
    ("POST", "/v1/feedback"): {"label": "fruit", "score": 0.5, "shown": "suggest", "wanted": "apply"},
    ("PATCH", "/v1/labels"): {"rename": {"label": "sport", "to": "sports"}, "dry_run": True},
}
PIECES = [
    *(b"NaN", b"-Infinity", b"1e999", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\x00", b"\\u0000", b"null", b"true"),
    *(b"[" * 100, b'{"a":' * 40, b"9" * 400, b"-0.0", b'"', b"}", b"\\", b"\xef\xbb\xbf", b"/*", b"\xf4\x90\x80\x80"),
]


def mutant(chance, body):
    """Return a body with one to four things wrong."""
    raw = bytearray(json.dumps(body, ensure_ascii=chance.random() < 0.5).encode())
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw) + 1)
        what = chance.random()
        if what < 0.3 and raw:
            raw[at % len(raw)] = chance.randrange(256)
        elif what < 0.5:
            raw[at:at] = chance.choice(PIECES)
        elif what < 0.7:
            del raw[at : at + chance.randint(1, 20)]
        elif what < 0.85:
            raw[at:at] = raw[chance.randrange(len(raw) + 1) :][: chance.randint(1, 40)]
        else:  # a value of another kind
            fields = {
                **body,
                chance.choice([*body, "more"]): chance.choice([None, [], {}, 1e308, -1, "", [[]], {"a": 1}]),
            }
            raw = bytearray(json.dumps(fields).encode())
    return bytes(raw)


def large(chance, body):
    """Return a body that is too large, too deep, or just within the limits."""
    return chance.choice(
        [
            json.dumps({**body, "text": "a" * chance.choice([1_000_000, 1_048_560, 1_100_000, 9_000_000])}),
            json.dumps({**body, "text": "word " * 200_000}),
            json.dumps({**body, "accepted": [str(i) for i in range(chance.choice([9_000, 11_000]))]}),
            "[" * 500_000,
            '{"text":' * 100_000,
            json.dumps({"features": {str(i): 1 for i in range(chance.choice([50_000, 90_000]))}}),
            '{"features": {' + ",".join(f'"{i}":1' for i in range(101_100)) + "}}",
        ]
    ).encode()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("n", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutated_bodies(tmp_path, n):
    chance, statuses, slowest = random.Random(9), {}, 0.0
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        before = 0
        for number in range(n):
            (method, path), body = chance.choice(list(BODIES.items()))
            raw = large(chance, body) if number % 200 == 0 else mutant(chance, body)
            started = time.perf_counter()
            connection.request(method, path, raw, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
            slowest = max(slowest, time.perf_counter() - started)
            assert answer.status < 500, (path, raw[:300], said)
            if answer.status != 200:
                assert json.loads(said)["status"] == answer.status
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            if number == n // 2:
                before = resident(server.process.pid)
        growth = resident(server.process.pid) - before
        connection.close()
        assert server.stop() == 0
    print(f"{n:,} bodies: {dict(sorted(statuses.items()))}, slowest {slowest:.3f} s, grew by {growth / 1e6:.1f} MB")
    assert {200, 400, 413, 422} <= set(statuses)
    assert slowest < LONGEST_SECONDS
    assert growth < MOST_GROWTH
