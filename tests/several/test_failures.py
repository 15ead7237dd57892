"""Servers that share a journal are killed, stopped and cut off, and their database fails over: nothing is lost."""

import os

import pytest

from tests.store.postgres import programs

pytest.importorskip("psycopg")
failures = pytest.importorskip("tests.several.failures")
pytestmark = [
    pytest.mark.skipif(programs() is None, reason="needs PostgreSQL"),
    pytest.mark.xdist_group("several"),  # each test has six servers
]


def scaled(name, default):
    """Return a size that the environment may change, such as ABOUND_KILLS=20."""
    return int(os.environ.get(f"ABOUND_{name.upper()}", default))


def check(outcome, plan):
    print(outcome)
    assert outcome["violations"] == []
    assert outcome["problems"] == []
    for kind in ("kill", "cut", "failover", "pause"):
        assert outcome["done"].get(kind, 0) == getattr(plan, f"{kind}s")
    assert outcome["acknowledged"] == outcome["records"] > 500
    assert outcome["reads"] > outcome["acknowledged"]


def test_a_short_mixed_run():
    plan = failures.Plan(minutes=0.6, kills=3, cuts=3, failovers=1, pauses=1)
    check(failures.run(plan), plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        {"minutes": 10, "kills": 60, "cuts": 60, "failovers": 8, "pauses": 20},
        {"minutes": 30, "kills": 200, "cuts": 200, "failovers": 30, "pauses": 50},
    ],
    ids=["ten minutes", "many failures"],
)
def test_long_mixed_runs(sizes):
    plan = failures.Plan(**{name: scaled(name, size) for name, size in sizes.items()}, seed=1)
    check(failures.run(plan), plan)


@pytest.mark.parametrize(
    ("defect", "expected"),
    [
        pytest.param("unwritten", {"lost", "moved"}, marks=pytest.mark.slow),
        ("forgetful", {"twice"}),
        pytest.param("stale", {"stale"}, marks=pytest.mark.slow),
        pytest.param("unanswered", set(), marks=pytest.mark.slow),
    ],
)
def test_a_defect_of_two_servers_is_noticed(defect, expected):
    program = ("-m", "tests.several.broken", defect)
    outcome = failures.run(failures.Plan(minutes=0.15, patience=20), programs={"b": program, "c": program})
    print(outcome)
    if expected:
        assert expected & set(outcome["kinds"])
    else:
        assert (outcome["violations"], outcome["problems"]) == ([], [])
        assert outcome["answers"]["learn 503"] > 0


def test_a_database_that_loses_commits_is_noticed():
    """Servers that have a record which the database lost learn nothing more, and the checks report it."""
    plan = failures.Plan(minutes=0.2, failovers=1, patience=5, seed=1)
    outcome = failures.run(plan, is_lossy=True)
    print(outcome)
    assert "lost" in outcome["kinds"]
    assert set(outcome["kinds"]) <= {"lost", "moved", "future", "early"}
    assert any("has the state" in problem for problem in outcome["problems"])
