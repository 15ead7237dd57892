"""Endpoints that teach: what they acknowledge is on the disk."""

from abound.server.http.bodies import FeedbackAsk, LearnAsk, Learnt, Noted
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.limits import check_text
from abound.store.journal.records import BandFeedback, Learn


async def learn(call: Call[LearnAsk]) -> Learnt:
    """Learn what a person says of a text's labels."""
    ask = call.ask
    check_text(ask.text)
    record = Learn(ask.text, ask.accepted, ask.rejected, ask.added)
    receipt = await call.served.learn(record, call.key or ask.key)
    return Learnt(receipt.sequence, receipt.repeated)


async def feedback(call: Call[FeedbackAsk]) -> Noted:
    """Note in which band a label belongs."""
    ask = call.ask
    receipt = await call.served.learn(BandFeedback(ask.label, ask.score, ask.shown, ask.wanted), call.key)
    return Noted(receipt.sequence)


ENDPOINTS = (
    Endpoint("POST", "/v1/learn", learn, LearnAsk, Learnt, "Learn a correction", Scope.LEARN, keyed=True),
    Endpoint(
        "POST",
        "/v1/feedback",
        feedback,
        FeedbackAsk,
        Noted,
        "Say in which band a label belongs",
        Scope.LEARN,
        keyed=True,
    ),
)
