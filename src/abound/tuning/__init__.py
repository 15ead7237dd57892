"""Find the best setting for some rows, by successive halving on growing samples within a time budget."""

from abound.tuning.settings import Setting
from abound.tuning.trials import Rows, Trial
from abound.tuning.tuner import Tuning, tune

__all__ = ["Rows", "Setting", "Trial", "Tuning", "tune"]
