"""The cascade of abound: its defaults; votes alone, for many labels; and a number of passes."""

import harness
import ours

from abound import Cascade  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound cascade"
    settings = {  # noqa: RUF012
        "default": ("defaults", {}),
        "fast": ("candidates=0", {"candidates": 0}),
        **{f"passes-{n}": (f"passes={n}", {"passes": n}) for n in (1, 2, 3, 5, 8)},
    }

    def make(self):
        return Cascade(**self.options)


if __name__ == "__main__":
    harness.run(System)
