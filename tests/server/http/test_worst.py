"""No request within the limits blocks the event loop or the model for long; `worst.py` has the full test."""

import statistics
import sys

import pytest

from abound import Tagger
from abound.data import read
from abound.server import Writer
from tests.server.http.alone import Steps
from tests.server.http.running import ROOT
from tests.server.http.worst import MOST_SECONDS, Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processor time of threads is Linux's")


@pytest.fixture
def tagger():
    rows = list(read(ROOT / "examples" / "finna" / "titles.jsonl"))
    return Tagger().fit([row.text for row in rows], [row.labels for row in rows])


@pytest.mark.parametrize(("requests", "kills"), [(40, 1), pytest.param(500, 5, marks=pytest.mark.slow)])
def test_the_worst_requests_hold_nobody_up_for_long(tmp_path, tagger, requests, kills):
    run = Run(tmp_path, tagger, requests=requests, kills=kills)
    run.go()
    assert run.problems == []
    assert run.n_answered >= requests
    assert run.longest("lock", "times") > requests
    for what in ("lock", "loop"):
        # Generous: on a shared machine, the CPU time of the same work varies by a factor of up to 3.
        assert run.longest(what, "processor") < 4 * MOST_SECONDS, run.where(what)
    with Writer(run.home, snapshot_every=None) as writer:
        assert list(writer.journal.damage()) == []


def test_every_step_of_the_worst_requests_is_measured_alone(tagger):
    steps = Steps(tagger, "test")
    for _ in range(3):
        steps.rank()
        steps.explain()
        steps.features()
        for kind in ("learn_long", "learn_labels", "learn_merged"):
            steps.learn(kind)
    assert {"tokenise a text of 500 kB", "votes for all labels", "words of some labels"} <= steps.seconds.keys()
    assert all(statistics.median(seconds) < MOST_SECONDS for seconds in steps.seconds.values()), steps.seconds
