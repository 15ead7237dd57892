"""SVM-map's inner and outer problem from the paper, in plain Python; slow, and nothing here is abound's.

A query is a list of scores and a list of relevance flags. A ranking is a list of document numbers, best first.
"""

from itertools import permutations


def average_precision(ranking, relevant):
    found, total = 0, 0.0
    for rank, document in enumerate(ranking, 1):
        if relevant[document]:
            found += 1
            total += found / rank
    return total / sum(relevant)


def pairs(relevant):
    """Yield every pair of a relevant and another document."""
    for i, is_relevant in enumerate(relevant):
        for j, other in enumerate(relevant):
            if is_relevant and not other:
                yield i, j


def roc_area(ranking, relevant):
    rank = {document: place for place, document in enumerate(ranking)}
    ordered = [rank[i] < rank[j] for i, j in pairs(relevant)]
    return sum(ordered) / len(ordered)


def delta(loss, ranking, relevant):
    return 1 - {"map": average_precision, "roc": roc_area}[loss](ranking, relevant)


def psi_weights(ranking, relevant):
    """The weight of each document's row in Psi: 1 / (|rel| |non|) times the sum of y_ij (phi_i - phi_j)."""
    rank = {document: place for place, document in enumerate(ranking)}
    weights, n_pairs = [0.0] * len(relevant), 0
    for i, j in pairs(relevant):
        y = 1 if rank[i] < rank[j] else -1
        weights[i] += y
        weights[j] -= y
        n_pairs += 1
    return [weight / n_pairs for weight in weights]


def right_ranking(relevant):
    return sorted(range(len(relevant)), key=lambda document: not relevant[document])


def violation(loss, ranking, scores, relevant):
    """H: the loss of a ranking, and how much better it fits the scores than the right one."""
    right, wrong = psi_weights(right_ranking(relevant), relevant), psi_weights(ranking, relevant)
    return delta(loss, ranking, relevant) - sum((r - w) * s for r, w, s in zip(right, wrong, scores, strict=True))


def most_violated(loss, scores, relevant):
    """The largest H over all rankings, by trying each of them.

    One walk down a ranking gives its H: the precision at each relevant document, and for each of them the pairs
    with the others above it, which weigh 2 / (|rel| |non|) in Psi(right) - Psi(ranking).
    """
    n_rel = sum(relevant)
    n_pairs = n_rel * (len(relevant) - n_rel)
    best = 0.0
    for ranking in permutations(range(len(scores))):
        found = above = turned = 0
        precisions = turned_scores = above_scores = 0.0
        for document in ranking:
            if relevant[document]:
                found += 1
                precisions += found / (found + above)
                turned += above
                turned_scores += above * scores[document] - above_scores
            else:
                above += 1
                above_scores += scores[document]
        lost = 1 - precisions / n_rel if loss == "map" else turned / n_pairs
        best = max(best, lost - 2 * turned_scores / n_pairs)
    return best


def most_violated_accuracy(scores, relevant):
    """The largest H over all labelings: each document is wrong or not, and none depends on another."""
    total = 0.0
    for score, is_relevant in zip(scores, relevant, strict=True):
        total += max(0.0, 1 - (score if is_relevant else -score))
    return total / len(scores)


def opt_places(scores, relevant):
    """opt_j of each other document by the formula, each searched over all k on its own.

    Places count from 1; |rel| + 1 is below every relevant document.
    """
    rel = sorted((s for s, r in zip(scores, relevant, strict=True) if r), reverse=True)
    non = sorted((s for s, r in zip(scores, relevant, strict=True) if not r), reverse=True)
    n_rel, n_non = len(rel), len(non)
    places = []
    for j, other in enumerate(non, 1):

        def gain(k, j=j, other=other):
            return sum(
                (j / (j + i) - (j - 1) / (j + i - 1)) / n_rel - 2 * (rel[i - 1] - other) / (n_rel * n_non)
                for i in range(k, n_rel + 1)
            )

        places.append(max(range(n_rel + 1, 0, -1), key=gain))
    return places
