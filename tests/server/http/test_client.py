"""How the client parses answers; the tests of workers and of kills use it with real servers."""

import pytest

from abound.client import Client

ANSWER = {"sequence": 3, "label": "fruit", "score": 0.75, "words": [{"word": "apple", "vote": 0.5, "spans": [[0, 5]]}]}


@pytest.mark.parametrize("prior", [0.0, 0.25])
def test_an_explanation_without_a_prior_has_none(prior, monkeypatch):
    answer = {**ANSWER, "prior": prior} if prior else ANSWER  # a server leaves out what is 0
    monkeypatch.setattr(Client, "post", lambda *_: answer)
    assert Client("http://127.0.0.1:1").explain("apple", "fruit").prior == prior
