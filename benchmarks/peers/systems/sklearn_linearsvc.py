"""scikit-learn's LinearSVC, one against the rest."""

import harness
import one_vs_rest
from sklearn.svm import LinearSVC


class LinearSvc(one_vs_rest.OneVsRest):
    name = "LinearSVC one-vs-rest"
    setting = "defaults, two jobs"

    def learner(self):
        return LinearSVC()


if __name__ == "__main__":
    harness.run(LinearSvc())
