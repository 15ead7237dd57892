"""scikit-learn's LinearSVC, one-vs-rest: its defaults, and with a small C, as its guide recommends for noise."""

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
