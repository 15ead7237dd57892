"""Attacks by name: on which kind of model, and what is done to its directory. Every one of them must be refused."""

from tests.store.hostile.attacks_on_files import FILES, HEADERS, JSON, NAMES, PARAMETERS
from tests.store.hostile.attacks_on_states import (
    BANDS,
    COUNTS,
    INDEX,
    INF,
    NAN,
    ORDINAL,
    PROTOTYPES,
    QUERIES,
    RATED,
    SERVED,
    SUPPORT,
    THRESHOLDS,
    VOCABULARY,
)
from tests.store.hostile.forge import array, put


def _on(kind, attacks):
    return {f"{kind}: {name}": (kind, attack) for name, attack in attacks.items()}


ATTACKS = {
    **FILES,
    **_on("feature-focus", {**NAMES, **HEADERS, **JSON}),
    **PARAMETERS,
    **_on("feature-focus", INDEX),
    **_on("cascade-many", RATED),
    **_on("mmp", PROTOTYPES),
    **_on("rocchio", {"totals of no number": array("feature_totals", put(0, NAN)), **PROTOTYPES}),
    **_on("independent", COUNTS),
    **_on("frequency", {"labels counted more often than rows": array("label_counts", put(0, 1 << 50))}),
    **_on("cascade-few", {"a pair of no number": array("pair_weights", put(0, NAN))}),
    **_on("cascade-few", {"a pair's label beyond the names": array("pair_labels", put(-1, 1 << 30))}),
    **_on("prank", ORDINAL),
    **_on("prank-rbf", SUPPORT),
    **_on("widrow-hoff", {"an infinite constant": array("intercept", put(0, INF))}),
    **_on("multiclass-perceptron", {"weights of no number": array("weights", put((0, 0), NAN))}),
    **_on("svm-map", QUERIES),
    **_on("reranker", THRESHOLDS),
    **_on("tagger", {**BANDS, **VOCABULARY}),
    **_on("snapshot", SERVED),
}
