"""List the systems of the comparison, and the settings that are tried for each: the grid is published here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.locked.files import NAMES as LOCKED_SETS
from benchmarks.sets import LabelSet

OURS = "abound"  # the system that the others are compared with
FORMS = ("default", "tuned")
RUNS = 2  # timed runs of each system and form
TUNING_ROWS = 20_000  # training rows, at most
HELD_ROWS = 3_000  # rows that judge a setting, at most
TUNING_CORE_SECONDS = 300.0  # for one system on one data set
RUN_SECONDS, RUN_GIGABYTES = 3600, 12  # a run that needs more is stopped
FEW = 2_000  # labels for which a model each is trained

Options = Mapping[str, Any]


@dataclass(frozen=True)
class System:
    """A system: its script, its environment, and the settings that tuning tries.

    The defaults of the system are always the first setting. `grid` has the others, in the order in which they are
    tried: those that the system's documentation recommends come first, because the time for tuning may end.
    """

    name: str
    script: str
    environment: str | None  # a requirements file; None is the environment that we run in
    grid: tuple[Options, ...] = ()
    most_labels: int = 10**9
    needs_texts: bool = False

    @property
    def is_ours(self) -> bool:
        return self.environment is None

    @property
    def forms(self) -> tuple[str, ...]:
        return FORMS if self.grid else FORMS[:1]

    @property
    def settings(self) -> tuple[Options, ...]:
        return ({}, *self.grid)

    def refuses(self, data: LabelSet) -> str | None:
        """Return why a data set cannot be given to this system, or None."""
        if data.n_train_labels > self.most_labels:
            return f"not run: it trains a model for each of {data.n_train_labels:,} labels"
        if self.needs_texts and not data.texts_train:
            return "not run: the data set has no texts"
        return None


BONSAI = {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}
COLLAPSED = {"cluster_balanced": False, "collapse_every_n_layers": 5}
LARGE = {"lr": 1.0, "epoch": 25, "dim": 50}
BIGRAMS = {"wordNgrams": 2, "bucket": 200_000}  # as in its tutorial

SYSTEMS = {
    OURS: System(
        "abound",
        "abound_cascade",
        None,
        (
            *({"passes": n} for n in (1, 2, 3, 5)),
            *({"candidates": n} for n in (10, 40, 80)),
            *({"passes": 3, "candidates": n} for n in (10, 40, 80)),
            {"passes": 5, "candidates": 40},
            *({"d_max": n} for n in (25, 100)),
            *({"w_min": x} for x in (0.001, 0.005)),
            {"passes": 3, "candidates": 40, "d_max": 100, "w_min": 0.001},
            {"few_labels": 0},
            {"few_labels": 0, "passes": 3, "candidates": 40},
            *({"few_labels": FEW, "passes": n} for n in (1, 2, 3, 5, 8)),
        ),
    ),
    "abound-fit": System("abound fit", "abound_tagger", None, needs_texts=True),
    "omikuji": System(
        "omikuji",
        "omikuji_trees",
        "omikuji",
        (
            BONSAI,
            COLLAPSED,
            {**BONSAI, "linear_c": 0.3},
            {**BONSAI, "linear_c": 3.0},
            {"linear_c": 0.3},
            {"linear_c": 3.0},
            {**BONSAI, "linear_weight_threshold": 0.01},
            {**BONSAI, "linear_eps": 0.01, "linear_max_iter": 100},
            {**BONSAI, "n_trees": 5},
            {**COLLAPSED, "linear_c": 3.0},
            {**BONSAI, "linear_c": 10.0},
            {**BONSAI, "linear_c": 3.0, "linear_weight_threshold": 0.01},
        ),
    ),
    "pecos": System(
        "PECOS XR-Linear",
        "pecos_xlinear",
        "pecos",
        (
            {"seeds": [0, 1, 2], "negatives": "tfn+man"},
            {"Cp": 0.3, "Cn": 0.3},
            {"Cp": 3.0, "Cn": 3.0},
            {"negatives": "tfn+man"},
            {"beam_size": 50},
            {"seeds": [0, 1, 2]},
            {"seeds": [0, 1, 2], "Cp": 3.0, "Cn": 3.0},
            {"seeds": [0, 1, 2], "negatives": "tfn+man", "Cp": 3.0, "Cn": 3.0},
            {"seeds": [0, 1, 2], "beam_size": 50, "Cp": 0.3, "Cn": 0.3},
            {"threshold": 0.01},
            {"nr_splits": 32},
        ),
    ),
    "napkinxc": System(
        "napkinXC PLT",
        "napkinxc_plt",
        "napkinxc",
        (
            {"ensemble": 3},
            {"liblinear_c": 3.0},
            {"loss": "l2", "liblinear_c": 1.0},
            {"liblinear_c": 30.0},
            {"arity": 16},
            {"ensemble": 3, "liblinear_c": 30.0},
            {"ensemble": 3, "loss": "l2", "liblinear_c": 1.0},
            {"loss": "l2", "liblinear_c": 3.0},
            {"ensemble": 3, "arity": 16, "liblinear_c": 30.0},
            {"ensemble": 3, "loss": "l2", "liblinear_c": 3.0},
        ),
    ),
    "fasttext": System(
        "fastText",
        "fasttext_words",
        "fasttext",
        (
            {"loss": "hs", **LARGE},
            {"loss": "hs", **LARGE, **BIGRAMS},
            {"loss": "ova", **LARGE, "lr": 0.5},
            {"loss": "ova", **LARGE, "lr": 0.5, **BIGRAMS},
            {"loss": "hs", **LARGE, "lr": 0.5, **BIGRAMS},
            {"loss": "hs", **LARGE, "lr": 0.5, "epoch": 50, "dim": 100},
            {"loss": "hs", **LARGE, "lr": 0.3},
            {"loss": "softmax", **LARGE, "lr": 0.5},
            {"loss": "ova", **LARGE, "lr": 0.2, "epoch": 50, "dim": 100},
            {"loss": "ova", **LARGE, "lr": 0.2, "epoch": 50, **BIGRAMS},
            {"loss": "softmax", **LARGE, "lr": 0.2, "epoch": 50, **BIGRAMS},
            {"loss": "hs", **LARGE, "epoch": 100, "dim": 100, **BIGRAMS},
        ),
    ),
    "vw": System(
        "Vowpal Wabbit",
        "vowpal_wabbit",
        "vw",
        (
            {"rate": 2.0},
            {"passes": 5},
            {"passes": 5, "kary_tree": 16},
            {"passes": 5, "rate": 2.0, "kary_tree": 16},
            {"passes": 10, "kary_tree": 16},
            {"passes": 3, "reduction": "multilabel_oaa"},
            {"passes": 10, "rate": 2.0},
            {"passes": 10, "rate": 0.2, "kary_tree": 16},
            {"passes": 10, "rate": 2.0, "kary_tree": 16},
            {"passes": 20, "kary_tree": 16},
            {"passes": 5, "rate": 2.0, "reduction": "multilabel_oaa"},
        ),
    ),
    "linearsvc": System(
        "LinearSVC one-vs-rest",
        "sklearn_linearsvc",
        "sklearn",
        tuple({"C": c} for c in (0.3, 0.1, 3.0, 0.6, 10.0)),
        most_labels=FEW,
    ),
}
# From small to large, so that many results are there early.
FEW_SETS = ("bibtex", "delicious", "ohsumed23", "reuters-90", "20news", "rcv1-subset", "debian-tags")
MANY_SETS = (
    *("finna-5k", "gutenberg-5k", "finna-20k", "gutenberg-lcsh", "wordnet-hypernym", "debian-depends", "finna-100k"),
    *("austen-words", "yso-finna-en", "yso-finna-fi"),
)
SETS = (*FEW_SETS, *MANY_SETS, *LOCKED_SETS)  # the locked ones are run once, at the end
