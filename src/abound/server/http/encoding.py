"""Encode texts outside of the event loop."""

import asyncio
from collections.abc import Sequence

from abound.server.replica import Replica
from abound.texts import Text, joined


async def encode(replica: Replica, texts: Sequence[Text]) -> None:
    """Encode a few texts in a thread if that takes long; rankings then find their vectors.

    Give one piece of a request at a time: an encoder serves one thread after another.
    """
    encoder = replica.tagger.opened_encoder
    if encoder is not None and encoder.is_slow:
        await asyncio.to_thread(encoder.encode, [joined(text) for text in texts])
