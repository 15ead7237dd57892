"""The types of ASGI, and what applications note about a request in its scope."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

ASGIScope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[ASGIScope, Receive, Send], Awaitable[None]]
# Keys of a scope: the endpoint's name, the name of who asks, and why a key was refused.
ENDPOINT = "abound.endpoint"
CALLER = "abound.caller"
REASON = "abound.reason"
