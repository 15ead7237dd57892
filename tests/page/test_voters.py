"""The page says who voted, if it was not the words alone."""

import pytest

from abound import Tagger
from benchmarks.page import stage
from tests.page.conftest import Stage
from tests.server.http.scoring import scoring_service
from tests.test_tagger_bands import documents

pytestmark = [pytest.mark.browser, pytest.mark.data]
TEXT = "apple pear race"


@pytest.fixture(scope="module")
def scoring():
    with scoring_service() as service:
        yield service


@pytest.fixture(scope="module")
def stage_of_titles(tmp_path_factory, scoring):
    folder = tmp_path_factory.mktemp("voters")
    Tagger().fit(*documents(400)).save(folder / "model")
    options = ("--second-opinion", scoring.url, "--second-opinion-timeout", "20")
    with stage.Server(folder / "model", *options) as server:
        yield Stage(server.address, [])


def test_the_page_says_who_voted(open_visit, scoring):
    visit = open_visit()
    visit.open()
    voters = visit.page.locator(".voters")
    assert voters.is_hidden()
    visit.type(TEXT)
    assert voters.text_content() == "Ranked by words, second opinion."
    assert voters.is_visible()
    scoring.score = lambda _text, _label: None  # not a number: the answer cannot be used
    visit.type(f"{TEXT} again")
    voters.wait_for(state="hidden")
