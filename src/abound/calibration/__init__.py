"""How likely is a ranked label right, and which labels should be applied?"""

from abound.calibration.calibration import Calibration
from abound.calibration.decisions import Decision, PrecisionTarget, expected_f1

__all__ = ["Calibration", "Decision", "PrecisionTarget", "expected_f1"]
