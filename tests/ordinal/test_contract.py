"""A learner that leaves out a step of the contract cannot be made."""

import pytest

from abound.ordinal.base import OrdinalEstimator


def test_an_incomplete_learner_cannot_be_made():
    class Incomplete(OrdinalEstimator):
        kind = "incomplete"

        def _check_params(self):
            pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()
