"""The cascade of abound: its defaults; votes alone, for many labels; and a number of passes.

No other system learns probabilities, so the cascade runs without its calibration and learns all rows in every pass.
"""

import harness
import ours

from abound import Cascade  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound cascade"
    settings = {  # noqa: RUF012
        "default": ("defaults, no calibration", {}),
        "fast": ("candidates=0, no calibration", {"candidates": 0}),
        **{f"passes-{n}": (f"passes={n}, no calibration", {"passes": n}) for n in (1, 2, 3, 5, 8)},
    }

    def make(self):
        return Cascade(**self.options, calibrate=False)


if __name__ == "__main__":
    harness.run(System)
