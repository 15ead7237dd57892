"""Which setting suits these rows best: successive halving on growing samples of them, within a time budget."""

from abound.tuning.settings import Setting
from abound.tuning.trials import Rows, Trial
from abound.tuning.tuner import Tuning, tune

__all__ = ["Rows", "Setting", "Trial", "Tuning", "tune"]
