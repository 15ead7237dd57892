"""How the client parses answers; the tests of workers and of kills use it with real servers."""

import socket

import pytest

from abound.client import Client
from abound.errors import ServerUnreachable

ANSWER = {"sequence": 3, "label": "fruit", "score": 0.75, "words": [{"word": "apple", "vote": 0.5, "spans": [[0, 5]]}]}


@pytest.mark.parametrize("prior", [0.0, 0.25])
def test_an_explanation_without_a_prior_has_none(prior, monkeypatch):
    answer = {**ANSWER, "prior": prior} if prior else ANSWER  # a server leaves out what is 0
    monkeypatch.setattr(Client, "post", lambda *_: answer)
    assert Client("http://127.0.0.1:1").explain("apple", "fruit").prior == prior


def test_messages_hide_the_password_of_a_url():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    client = Client(f"http://ann:s3cret@127.0.0.1:{port}", retries=0)
    with pytest.raises(ServerUnreachable, match=rf"^http://127\.0\.0\.1:{port} does not answer") as caught:
        client.model()
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ValueError, match="must be a URL such as") as refused:
        Client("ftp://ann:s3cret@127.0.0.1")
    assert "s3cret" not in str(refused.value)
