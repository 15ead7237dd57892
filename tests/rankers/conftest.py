"""Fixtures of the rankers' tests."""

import pytest

from abound.rankers import auto
from tests.rankers.cascade_forms import TRIAL


@pytest.fixture
def short_trial(monkeypatch):
    """Let a stream decide after so few rows that a test can go past them."""
    monkeypatch.setattr(auto, "TRIAL_ROWS", TRIAL)
