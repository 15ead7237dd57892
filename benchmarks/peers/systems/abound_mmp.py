"""The MMP category ranker of abound, with its defaults."""

import harness
import ours

from abound import MMP  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound MMP"

    def make(self):
        return MMP()


if __name__ == "__main__":
    harness.run(System)
