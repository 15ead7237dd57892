"""The cascade of abound, with its defaults."""

import harness
import ours

from abound import Cascade  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound cascade"

    def make(self):
        return Cascade()


if __name__ == "__main__":
    harness.run(System())
