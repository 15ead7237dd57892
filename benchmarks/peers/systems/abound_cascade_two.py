"""The cascade of abound, with a second pass where labels are many."""

import harness
import ours

from abound import Cascade  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound cascade"
    setting = "two passes"

    def make(self):
        return Cascade(passes=2)


if __name__ == "__main__":
    harness.run(System())
