"""The feature-focus index of abound, with its defaults."""

import harness
import ours

from abound import FeatureFocus  # here, because importing it must not count as training


class System(ours.Ours):
    name = "abound feature-focus"

    def make(self):
        return FeatureFocus()


if __name__ == "__main__":
    harness.run(System)
