"""List the systems and the data sets on which they run."""

from dataclasses import dataclass

from benchmarks.sets import LabelSet

OURS = "abound"  # the system that the others are compared with


@dataclass(frozen=True)
class Peer:
    """A system with a setting: its script, its environment, and the largest data set that it can finish."""

    script: str
    environment: str | None  # the name of a requirements file; None is the environment that we run in
    setting: str = "default"
    kind: str = "linear"  # or ours, passes (also ours), embeddings, votes (of embeddings, in our ranking)
    most_labels: int = 10**9
    most_rows: int = 10**9
    only: tuple[str, ...] = ()  # the data sets on which it runs; empty means all
    repeatable: bool = True  # a second run gives the same ranking

    def refuses(self, data: LabelSet) -> str | None:
        """Return why a data set is too large for this system, or None."""
        if data.n_train_labels > self.most_labels:
            return f"not run: it trains a model for each of {data.n_train_labels:,} labels"
        if data.X_train.shape[0] > self.most_rows:
            return f"not run: {data.X_train.shape[0]:,} rows are too many in {LIMITS}"
        return None


SECONDS, GIGABYTES = 20 * 60, 8  # a run that needs more is listed as not finished
LIMITS = f"{SECONDS // 60} minutes and {GIGABYTES} GB"
FEW = 2_000  # labels for which one model each can be trained
SLICE = 100_000  # rows for slow systems
EMBEDDED = ("finna-5k", "gutenberg-5k", "finna-20k", "gutenberg-lcsh", "wordnet-hypernym", "finna-100k")  # short texts
VOTED = EMBEDDED[:4]

PEERS = {
    OURS: Peer("abound_cascade", None, kind="ours"),
    "abound-fast": Peer("abound_cascade", None, "fast", kind="ours"),
    "abound-index": Peer("abound_index", None, kind="ours"),
    "abound-mmp": Peer("abound_mmp", None, kind="ours", most_labels=FEW),
    **{f"abound-{n}": Peer("abound_cascade", None, f"passes-{n}", kind="passes") for n in (1, 2, 3, 5, 8)},
    "omikuji": Peer("omikuji_trees", "omikuji", repeatable=False),
    "omikuji-bonsai": Peer("omikuji_trees", "omikuji", "bonsai", repeatable=False),
    "omikuji-collapse": Peer("omikuji_trees", "omikuji", "collapse", repeatable=False),
    "pecos": Peer("pecos_xlinear", "pecos"),
    "pecos-ensemble": Peer("pecos_xlinear", "pecos", "ensemble"),
    "napkinxc": Peer("napkinxc_plt", "napkinxc", most_rows=SLICE),
    "napkinxc-ensemble": Peer("napkinxc_plt", "napkinxc", "ensemble", most_rows=SLICE),
    "fasttext": Peer("fasttext_words", "fasttext", repeatable=False),
    "fasttext-hs": Peer("fasttext_words", "fasttext", "hs", repeatable=False),
    "fasttext-ova": Peer("fasttext_words", "fasttext", "ova", most_labels=FEW, repeatable=False),
    "vw": Peer("vowpal_wabbit", "vw"),
    "vw-demo": Peer("vowpal_wabbit", "vw", "demo"),
    "vw-oaa": Peer("vowpal_wabbit", "vw", "oaa", most_labels=FEW),
    "linearsvc": Peer("sklearn_linearsvc", "sklearn", most_labels=FEW, most_rows=SLICE),
    "linearsvc-small-c": Peer("sklearn_linearsvc", "sklearn", "small-c", most_labels=FEW, most_rows=SLICE),
    "sgd": Peer("sklearn_sgd", "sklearn", most_labels=FEW, most_rows=SLICE),
    "sgd-one-pass": Peer("sklearn_sgd", "sklearn", "one-pass", most_labels=FEW, most_rows=SLICE),
    "river": Peer("river_one_vs_rest", "river", most_labels=200, most_rows=SLICE),
    "river-pa": Peer("river_one_vs_rest", "river", "pa", most_labels=200, most_rows=SLICE),
    "minilm-neighbours": Peer("minilm_neighbours", "minilm", kind="embeddings", only=EMBEDDED),
    "minilm-neighbours-50": Peer("minilm_neighbours", "minilm", "fifty", kind="embeddings", only=EMBEDDED),
    "minilm-linear": Peer("minilm_linear", "minilm", kind="embeddings", only=EMBEDDED),
    "minilm-softmax": Peer("minilm_linear", "minilm", "softmax", kind="embeddings", only=EMBEDDED, most_labels=20_000),
    "abound-votes": Peer("abound_votes", None, kind="votes", only=VOTED),
    "abound-votes-scores": Peer("abound_votes", None, "scores", kind="votes", only=VOTED),
    "abound-votes-both": Peer("abound_votes", None, "both", kind="votes", only=VOTED),
}
# From small to large, so that many results are available early.
SETS = (
    *("bibtex", "delicious", "ohsumed23", "reuters-90", "20news", "rcv1-subset", "debian-tags"),
    *(
        "finna-5k",
        "gutenberg-5k",
        "gutenberg-lcsh",
        "wordnet-hypernym",
        "debian-depends",
        "finna-20k",
        "finna-100k",
        "austen-words",
    ),
    *("yso-finna-en", "yso-finna-fi"),
)
