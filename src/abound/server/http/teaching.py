"""Endpoints that learn: an acknowledged record is on disk."""

from msgspec import UNSET

from abound.server.http.bodies import FeedbackRequest, Learned, LearnRequest, Noted
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.limits import check_fields, check_text
from abound.store.journal.records import BandFeedback, Learn


async def learn(call: Call[LearnRequest]) -> Learned:
    """Learn a person's decisions on the labels of a text."""
    request = call.request
    check_text(request.text)
    check_fields(call.service.replica.tagger, request.text)
    record = Learn(request.text, request.accepted, request.rejected, request.added, request.labels_are)
    receipt = await call.learn(record, call.key or request.key)
    return Learned(receipt.sequence, receipt.repeated, list(receipt.new_labels), dict(receipt.resolved))


async def feedback(call: Call[FeedbackRequest]) -> Noted:
    """Learn in which band a label belongs."""
    request = call.request
    text = None if request.text is UNSET else request.text
    if text is not None:
        check_text(text)
        check_fields(call.service.replica.tagger, text)
    record = BandFeedback(request.label, request.score, request.shown, request.wanted, text)
    receipt = await call.learn(record, call.key)
    return Noted(receipt.sequence)


ENDPOINTS = (
    Endpoint("POST", "/v1/learn", learn, LearnRequest, Learned, "Learn a correction", Scope.LEARN, keyed=True),
    Endpoint(
        "POST",
        "/v1/feedback",
        feedback,
        FeedbackRequest,
        Noted,
        "Report in which band a label belongs",
        Scope.LEARN,
        keyed=True,
    ),
)
