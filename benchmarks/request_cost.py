"""Measure the CPU time that the request id, the access log and the limits of a key add to a request.

    python -m benchmarks.request_cost

The application below answers at once, so that the differences are those of what is around it. Each figure is the best
of many batches.
"""

import asyncio
import json
import tempfile
import time
from pathlib import Path

from abound.server.http import logs
from abound.server.http.access import AccessLog
from abound.server.http.allowances import Allowance, Limits
from abound.server.http.asgi import CALLER, ENDPOINT
from abound.server.http.starting import Gate
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results" / "request-cost.json"
BATCHES, BATCH = 400, 50
HEADERS = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json"), (b"authorization", b"Bearer x")]
LIMITS = (100, 6_000, 100_000)  # requests and learns a minute


class App:
    """Answer a request with 500 bytes, within the limits of a key if there are any."""

    under_way, last_request = 0, 0.0

    def __init__(self, allowance=None):
        self._allowance = allowance

    def use(self, busy):
        pass

    def drain(self):
        pass

    async def __call__(self, scope, receive, send):  # noqa: ARG002  ASGI's form
        scope[ENDPOINT], scope[CALLER] = "POST /v1/learn", "the web shop"
        if self._allowance is None:
            await self._answer(send)
            return
        with self._allowance.request(1000), self._allowance.learning(1):
            await self._answer(send)

    async def _answer(self, send):
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": bytes(500)})


async def drop(_):
    """Send nothing."""


async def microseconds(app, batches=BATCHES, batch=BATCH):
    """Return the CPU time of a request."""
    best = float("inf")
    for _ in range(batches):
        begun = time.thread_time()
        for _ in range(batch):
            scope = {"type": "http", "path": "/v1/learn", "method": "POST", "headers": HEADERS}
            await app({**scope, "client": ("127.0.0.1", "5000")}, None, drop)
        best = min(best, time.thread_time() - begun)
    return best / batch * 1e6


def gate(*observers):
    """Return the application behind a gate with observers."""
    one = Gate(observers)
    one.open(App())
    return one


async def measured(folder):
    """Return the microseconds that each part adds."""
    alone = await microseconds(App())
    added = {
        "request id": await microseconds(gate()) - alone,
        "request id, slow and refused requests (the default)": await microseconds(gate(AccessLog(logs.LogSettings())))
        - alone,
    }
    for name in logs.FORMATS:
        settings = logs.LogSettings(name, file=str(folder / name), access=True)
        logs.configure(settings)
        added[f"access log as {name}"] = await microseconds(gate(AccessLog(settings))) - alone
    for limit in LIMITS:
        allowance = Allowance(folder, f"key {limit}", "", Limits(limit, limit, 1 << 20))
        allowance.prepare()
        # No more than the limit, or requests would be refused.
        batches, batch = (1, limit // 2) if limit < 1000 else (20, 50)
        added[f"all limits of a key, {limit:,} a minute"] = await microseconds(App(allowance), batches, batch) - alone
    return {name: round(value, 1) for name, value in added.items()}


def main():
    """Measure, print and store."""
    with tempfile.TemporaryDirectory() as folder:
        result = {"machine": machine_line(), "microseconds": asyncio.run(measured(Path(folder)))}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
