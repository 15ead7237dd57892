"""What the paper has: its parts, and the figures that our copy of its text has lost.

The parts name the files that implement them and the tests that check them; a test checks that these exist.
"""

from typing import NamedTuple

# Typed in from the printed paper as we remember it: the scanned text has none of these numbers.
LOST = {
    "synthetic points": "uniform in the unit square; rank from 10 (x₁ - 0.5)(x₂ - 0.5) + noise",
    "noise": "normal, mean 0, standard deviation 0.125",
    "thresholds": "-1, -0.1, 0.25 and 1, which give 5 ranks",
    "kernel": "(x·x' + 1)²",
    "sequences": "100 of 7,000 rounds",
    "EachMovie": "6 ratings from 0 to 1 in steps of 0.2; viewers with at least 100 and at least 200 ratings",
    "features": "ratings minus 0.5, so that 0 means not rated",
    "repeats": "500 random viewers",
    "rate of Widrow-Hoff": "constant; its value is not in our copy",
}


class Part(NamedTuple):
    """A part of the paper, where it is implemented, which test checks it, and the claims that judge it."""

    name: str
    file: str
    test: str
    claims: tuple[str, ...] = ()  # beginnings of claims; without any, `verdict` is shown
    verdict: str = ""


KERNEL = "src/abound/kernels/thresholds.pyx"
PRANK = "src/abound/ordinal/prank.py"
BASELINES = "src/abound/ordinal/baselines.py"
EXPERIMENTS = "benchmarks/papers/prank/experiments.py"
PARTS = (
    Part(
        "Ranking rule: the first threshold above the score",
        KERNEL,
        "tests/kernels/test_thresholds.py::test_weights_and_thresholds_equal_the_oracle_after_every_row",
        verdict="the same as the oracle",
    ),
    Part(
        "Figure 1: the example of an update",
        KERNEL,
        "tests/benchmarks/test_prank.py::test_figure_1",
        verdict="the same steps",
    ),
    Part(
        "Figure 1, if it is meant for every update",
        EXPERIMENTS,
        "tests/benchmarks/test_prank.py::test_moves_are_counted_by_what_they_do",
        ("Figure 1",),
    ),
    Part(
        "Figure 2: the algorithm",
        KERNEL,
        "tests/ordinal/test_prank_page.py::test_the_page_agrees_with_the_package",
        verdict="the same as the plain version on 200 seeds",
    ),
    Part(
        "Update only after a mistake (conservative)",
        KERNEL,
        "tests/ordinal/test_prank_page.py::test_the_condition_of_the_update_matters",
        verdict="the same as the plain version on 200 seeds",
    ),
    Part(
        "Mercer kernels",
        KERNEL,
        "tests/kernels/test_thresholds.py::test_kernels_equal_the_oracle_after_every_row",
        ("PRank can be combined with kernels",),
    ),
    Part(
        "Voting",
        "src/abound/ordinal/voting.py",
        "tests/ordinal/test_voting.py::test_a_vote_equals_the_oracle_on_200_seeds",
        ("PRank can be combined with voting",),
    ),
    Part(
        "Lemma 1: order of the thresholds",
        EXPERIMENTS,
        "tests/kernels/test_thresholds.py::test_ranks_that_come_late_keep_thresholds_and_their_means_in_order",
        ("Lemma 1",),
    ),
    Part(
        "Theorem 2: mistake bound",
        EXPERIMENTS,
        "tests/kernels/test_thresholds.py::test_the_papers_bound_holds_on_separable_streams",
        ("Theorem 2",),
    ),
    Part(
        "Widrow-Hoff",
        BASELINES,
        "tests/ordinal/test_baselines.py::test_widrow_hoff_is_sgd_with_a_constant_rate",
        verdict="the same as scikit-learn's SGD",
    ),
    Part(
        "Multiclass perceptron",
        BASELINES,
        "tests/ordinal/test_baselines.py::test_the_perceptron_moves_the_true_prototype_and_all_that_beat_it",
        verdict="the same as the plain version",
    ),
    Part(
        "Numbers of parameters",
        EXPERIMENTS,
        "tests/benchmarks/test_prank.py::test_a_tiny_run_has_all_parts",
        ("PRank has n + k - 1 parameters",),
    ),
    Part(
        "Figure 3, left: synthetic",
        EXPERIMENTS,
        "tests/benchmarks/test_prank.py::test_the_mean_of_all_hypotheses_is_best_on_the_synthetic_set",
        ("The multiclass perceptron is constantly", "At first, Widrow-Hoff", "In the end, PRank"),
    ),
    Part(
        "Figure 3, middle and right: EachMovie",
        "benchmarks/papers/prank/plan.py",
        "tests/benchmarks/test_prank.py::test_a_movielens_file_runs_as_in_the_paper",
        verdict="cannot be tested here: EachMovie was withdrawn. Jester is measured instead (next two rows), and "
        "`--movielens FILE` runs it on a file of yours",
    ),
    Part(
        "The same on Jester, PRank against Widrow-Hoff",
        "benchmarks/papers/prank/plan.py",
        "tests/benchmarks/test_prank.py::test_the_mean_of_all_hypotheses_is_best_on_ratings",
        ("PRank is significantly better",),
    ),
    Part(
        "The same on Jester, PRank against the multiclass perceptron",
        "benchmarks/papers/prank/plan.py",
        "tests/benchmarks/test_prank.py::test_the_mean_of_all_hypotheses_is_best_on_ratings",
        ("PRank is consistently better",),
    ),
    Part(
        "Batch mode (last paragraph)",
        "benchmarks/papers/prank/batch.py",
        "tests/benchmarks/test_prank.py::test_the_machines_of_the_batch_experiment_learn",
        ("In batch mode",),
    ),
    Part(
        "Tables",
        "-",
        "-",
        verdict="the paper has none",
    ),
)
