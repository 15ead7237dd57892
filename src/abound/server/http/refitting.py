"""The endpoint that switches to a refitted model."""

from abound.server.http.bodies import Learned, RefitRequest
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.store.journal.records import Refit


async def refit(call: Call[RefitRequest]) -> Learned:
    """Replay all records on a base model of the home, and switch to the result."""
    receipt = await call.change(Refit(call.request.base), call.key)
    return Learned(receipt.sequence, receipt.repeated)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/refit",
        refit,
        RefitRequest,
        Learned,
        "Switch to a base model that `abound refit` wrote to the home, with all corrections",
        Scope.ADMIN,
        keyed=True,
    ),
)
