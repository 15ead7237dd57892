"""The example service: a real model behind HTTP."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from abound.encoders import open_encoder
from abound.errors import ServerError
from abound.posting import address_of, post_json
from abound.second_opinion.outside import OutsideOpinion

SCRIPT = Path(__file__).parents[2] / "examples" / "second_opinion_service.py"


@pytest.fixture
def url():
    if importlib.util.find_spec("wordllama") is None:  # only its table is used, so it is not imported
        pytest.skip("wordllama is not installed")
    with subprocess.Popen([sys.executable, SCRIPT, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def test_scores_are_those_of_the_model(url):
    opinion = OutsideOpinion(url, timeout=30)
    labels = [("1", "beekeeping"), ("2", "railways"), ("3", "banking"), ("4", "")]
    encoder = open_encoder("wordllama")
    texts = {"Keeping bees for honey": "1", "Trains and railway stations": "2", "Loans, credit, interest": "3"}
    for text, best in texts.items():
        scores = opinion.ask(text, labels)
        vectors = encoder.encode([text, *(name for _, name in labels)])
        assert scores == pytest.approx(dict(zip("1234", (vectors[1:] @ vectors[0]).tolist(), strict=True)))
        assert max(scores, key=scores.get) == best
    assert opinion.counts.answered == 3


def test_a_bad_request_is_refused(url):
    for bad in (b"{}", b"no", b'{"text": "a", "labels": [1]}', b'{"text": 1, "labels": [{"id": "a", "name": "b"}]}'):
        with pytest.raises(ServerError, match="400"):
            post_json(address_of(url), bad, seconds=30, max_bytes=1000)
