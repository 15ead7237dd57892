"""PRank in plain Python, to read beside the paper (Crammer and Singer, NIPS 2001), figure 2 and section 2.

It imports nothing of the package. Ranks are 1 to k as in the paper, and a row is a dict of feature to value. Sums
go over features in ascending order, so that w and b can be compared bit for bit; the mean over all hypotheses is
taken as it is defined, by adding every one of them up.
"""

import math


class PRankOracle:
    """One direction w and thresholds b_1 <= ... <= b_(k-1), all 0 at first."""

    def __init__(self, k, margin=0.0):
        self.margin = margin
        self.w, self.w_sum = {}, {}
        self.b, self.b_sum = [0.0] * (k - 1), [0.0] * (k - 1)
        self.n = 0
        self.n_updates = 0
        self.low, self.high = math.inf, -math.inf  # of the scores seen so far
        self.past = []  # the score function and the thresholds after each row

    @property
    def k(self):
        return len(self.b) + 1

    def score(self, x):
        return sum_in_order(self.w.get(f, 0.0) * v for f, v in sorted(x.items()))

    def predict(self, x):
        """Return min {r : w.x - b_r < 0}, where b_k is infinite."""
        s = self.score(x)
        return next((r for r, b in enumerate(self.b, 1) if s < b), self.k)

    def learn(self, x, y):
        """Predict, then update where thresholds are on the wrong side, or within the margin of it."""
        s, predicted = self.score(x), self.predict(x)
        self.low, self.high = min(self.low, s), max(self.high, s)
        tau = []
        for r, b in enumerate(self.b, 1):
            y_r = -1 if y <= r else 1
            tau.append(y_r if (s - b) * y_r <= self.margin else 0)
        if any(tau) and (predicted != y or self.margin > 0):  # without a margin the paper learns from mistakes only
            self.n_updates += 1
            self.move(x, sum(tau))
            self.b = [b - t for b, t in zip(self.b, tau, strict=True)]
        self.n += 1
        self.sum_up()
        return predicted

    def move(self, x, step):
        for f, v in x.items():
            self.w[f] = self.w.get(f, 0.0) + step * v

    def sum_up(self):
        for f, weight in self.w.items():
            self.w_sum[f] = self.w_sum.get(f, 0.0) + weight
        self.b_sum = [total + b for total, b in zip(self.b_sum, self.b, strict=True)]
        self.past.append((self.frozen(), list(self.b)))

    def frozen(self):
        """Return the score function of this moment."""
        w = dict(self.w)
        return lambda x: sum_in_order(w.get(f, 0.0) * v for f, v in sorted(x.items()))

    def vote(self, x):
        """Return the lower median of the ranks that the hypotheses after each row predict."""
        ranks = []
        for score, thresholds in self.past:
            s = score(x)
            ranks.append(next((r for r, b in enumerate(thresholds, 1) if s < b), self.k))
        return sorted(ranks)[(len(ranks) - 1) // 2]

    def mean(self):
        """Return the means of w and b over the hypotheses after each row."""
        n = max(self.n, 1)
        return {f: total / n for f, total in self.w_sum.items()}, [total / n for total in self.b_sum]

    def insert_rank(self, r):
        """Make room for a rank that was not known: the ranks from r on become r + 1 and so on.

        The paper has no such step. Between two ranks their threshold is doubled, so the new rank is empty at first.
        At an end the new threshold stands just beyond all that was seen, so that nothing seen falls into the new
        rank; as long as nothing was learnt it is 0, as if the rank had been known from the start. The means take a
        threshold to have stood where it is put from the start.
        """
        if 1 < r <= self.k:
            at, value, total = r - 2, self.b[r - 2], self.b_sum[r - 2]
            for _, thresholds in self.past:
                thresholds.insert(at, thresholds[at])
        else:
            at, value = (0, self.beyond_low()) if r == 1 else (len(self.b), self.beyond_high())
            total = self.n * value
            for _, thresholds in self.past:
                thresholds.insert(at, value)
        self.b.insert(at, value)
        self.b_sum.insert(at, total)

    def beyond_low(self):
        return 0.0 if self.n_updates == 0 else min(0.0, math.ceil(self.low - self.margin) - 1.0)

    def beyond_high(self):
        return 0.0 if self.n_updates == 0 else max(0.0, math.floor(self.high + self.margin) + 1.0)


class KernelPRankOracle(PRankOracle):
    """PRank with a Mercer kernel: w is the sum of the rows that were learnt from, the oldest leave first."""

    def __init__(self, k, kernel, margin=0.0, budget=None):
        super().__init__(k, margin)
        self.kernel, self.budget = kernel, budget
        self.support = []  # (row, step, rows seen before it)

    def score(self, x):
        return sum_in_order(step * self.kernel(z, x) for z, step, _ in self.support)

    def frozen(self):
        support = list(self.support)
        return lambda x: sum_in_order(step * self.kernel(z, x) for z, step, _ in support)

    def mean_score(self, x):
        """Score by the mean over all hypotheses, of what is still supported."""
        n = max(self.n, 1)
        return sum((step * (n - born) / n) * self.kernel(z, x) for z, step, born in self.support)

    def move(self, x, step):
        if step:
            self.support.append((dict(x), step, self.n))
            if self.budget is not None:
                self.support = self.support[-self.budget :]


def polynomial(degree, gamma, coef0):
    return lambda z, x: (gamma * dot(z, x) + coef0) ** degree


def rbf(gamma):
    return lambda z, x: math.exp(-gamma * max(dot(z, z) + dot(x, x) - 2.0 * dot(z, x), 0.0))


def dot(z, x):
    return sum_in_order(v * x.get(f, 0.0) for f, v in sorted(z.items()))


def sum_in_order(terms):
    """Add from left to right; the built-in sum of floats compensates from Python 3.12 on."""
    total = 0.0
    for term in terms:
        total += term
    return total
