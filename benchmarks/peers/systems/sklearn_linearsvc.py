"""scikit-learn's LinearSVC, one against the rest: its defaults, and with C chosen small as its guide says for noise."""

import harness
import one_vs_rest
from sklearn.svm import LinearSVC


class LinearSvc(one_vs_rest.OneVsRest):
    name = "LinearSVC one-vs-rest"
    settings = {  # noqa: RUF012
        "default": ("defaults", {}),
        "small-c": ("C=0.3", {"C": 0.3}),
    }

    def learner(self):
        return LinearSVC(random_state=0, **self.options)


if __name__ == "__main__":
    harness.run(LinearSvc)
