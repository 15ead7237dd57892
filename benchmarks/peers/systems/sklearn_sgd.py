"""scikit-learn's SGDClassifier, one-vs-rest: its defaults (epochs until it stops improving), and one pass."""

import harness
import one_vs_rest
from sklearn.linear_model import SGDClassifier


class Sgd(one_vs_rest.OneVsRest):
    name = "SGDClassifier one-vs-rest"
    settings = {  # noqa: RUF012
        "default": ("defaults", {}),
        "one-pass": ("one pass, as with partial_fit", {"max_iter": 1, "tol": None}),
    }

    def learner(self):
        return SGDClassifier(random_state=0, **self.options)


if __name__ == "__main__":
    harness.run(Sgd)
