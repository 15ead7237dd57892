"""The cascade of abound with more edges and a second pass: slower, and more accurate where labels are many."""

import harness
import ours

from abound import Cascade  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound cascade, 2 passes"
    setting = "w_min=0.005, d_max=40, two passes"

    def make(self):
        return Cascade(w_min=0.005, d_max=40, passes=2)


if __name__ == "__main__":
    harness.run(System())
