"""scikit-learn's SGDClassifier, one against the rest, one pass as with partial_fit."""

import harness
import one_vs_rest
from sklearn.linear_model import SGDClassifier


class Sgd(one_vs_rest.OneVsRest):
    name = "SGDClassifier one-vs-rest"
    setting = "one pass in the rows' order, two jobs"

    def learner(self):
        return SGDClassifier(max_iter=1, tol=None, shuffle=False)


if __name__ == "__main__":
    harness.run(Sgd())
