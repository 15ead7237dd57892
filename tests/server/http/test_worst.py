"""No request within the limits blocks the event loop or the model for long; `worst.py` has the full test."""

import sys

import pytest

from abound import Tagger
from abound.data import read
from abound.server import Writer
from tests.server.http.running import ROOT
from tests.server.http.worst import MOST_SECONDS, Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processor time of threads is Linux's")


@pytest.mark.parametrize(("requests", "kills"), [(40, 1), pytest.param(500, 5, marks=pytest.mark.slow)])
def test_the_worst_requests_hold_nobody_up_for_long(tmp_path, requests, kills):
    rows = list(read(ROOT / "examples" / "finna" / "titles.jsonl"))
    tagger = Tagger().fit([row.text for row in rows], [row.labels for row in rows])
    run = Run(tmp_path, tagger, requests=requests, kills=kills)
    run.go()
    assert run.problems == []
    assert run.n_answered >= requests
    assert run.longest("lock", "times") > requests
    for what in ("lock", "loop"):
        assert run.longest(what, "processor") < MOST_SECONDS, run.where(what)
    with Writer(run.home, snapshot_every=None) as writer:
        assert list(writer.journal.damage()) == []
