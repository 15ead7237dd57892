"""Every algorithm, variant, theorem, table and figure of the paper, with the file that has it and its test."""

from typing import NamedTuple

RANKER = "src/abound/retrieval/svm_map.py"
PLANES = "src/abound/retrieval/cutting_plane.py"
KERNEL = "src/abound/kernels/violated.pyx"
BITS = "src/abound/retrieval/thermometer.py"
SCALING = "src/abound/retrieval/query_scaling.py"
RUN = "benchmarks/papers/svm_map/__main__.py"
THEORY = "benchmarks/papers/svm_map/theory.py"
LEARNERS = "benchmarks/papers/rankers.py"
N_SLACK = "tests/retrieval/test_n_slack.py"
FITS = "tests/retrieval/test_svm_map.py"
KERNELS = "tests/kernels/test_violated.py"
FEATURES = "tests/retrieval/test_features.py"
COMMAND = "tests/benchmarks/test_svm_map.py"


class Item(NamedTuple):
    """One thing of the paper; `claims` names the place whose verdicts are shown, otherwise `verdict` is."""

    what: str
    files: tuple[str, ...]
    test: str
    verdict: str = "as in the paper"
    claims: str = ""


ITEMS = (
    Item("average precision, ROC area", ("src/abound/metrics/query_ranking.py", THEORY), f"{COMMAND}::test_the_toys"),
    Item("tables 1 and 2: ROC area and MAP", (THEORY,), f"{COMMAND}::test_the_toys", claims="tables 1, 2"),
    Item("tables 3 and 4: accuracy and MAP", (THEORY,), f"{COMMAND}::test_the_toys", claims="tables 3, 4"),
    Item("Psi and the prediction (1), (2)", (KERNEL, RANKER), f"{N_SLACK}::test_algorithm_1_of_the_page"),
    Item("optimization problem 1 (3), (4)", (PLANES,), f"{N_SLACK}::test_algorithm_1_reaches_the_optimum"),
    Item("algorithm 1, with ε", (PLANES, RANKER), f"{N_SLACK}::test_algorithm_1_of_the_page"),
    Item("proposition 1", (THEORY,), f"{N_SLACK}::test_proposition_1", claims="proposition 1"),
    Item("theorem 1", (THEORY,), f"{N_SLACK}::test_theorem_1", claims="theorem 1"),
    Item("observation 1", (KERNEL,), f"{N_SLACK}::test_observation_1", "holds for every ranking of 5 documents"),
    Item("figure 1 and δ (5), (6)", (KERNEL,), f"{N_SLACK}::test_lemma_1_and_figure_1"),
    Item("algorithm 2 (7), (8), (9)", (KERNEL,), f"{KERNELS}::test_it_equals_brute_force"),
    Item("lemma 1", (KERNEL,), f"{N_SLACK}::test_lemma_1_and_figure_1", "holds on 50 seeds"),
    Item("theorem 2 (10)", (KERNEL,), f"{KERNELS}::test_places_never_rise", "holds against all permutations"),
    Item("running time", (THEORY,), f"{COMMAND}::test_the_short_form", claims="running time"),
    Item("figure 2: thermometer bits", (BITS,), f"{N_SLACK}::test_figure_2"),
    Item("SVM-roc", (KERNEL, LEARNERS), f"{KERNELS}::test_it_equals_brute_force"),
    Item("SVM-acc", (KERNEL, LEARNERS), f"{FITS}::test_accuracy_without_queries_is_the_ordinary_svm"),
    Item("SVM-acc2: weights of classes", (KERNEL, LEARNERS), f"{KERNELS}::test_false_negatives_may_weigh_more"),
    Item("SVM-acc3: percentiles", (SCALING, LEARNERS), f"{FEATURES}::test_each_method_does_what_it_says"),
    Item("SVM-acc4: scores from 0 to 1", (SCALING, LEARNERS), f"{FEATURES}::test_each_method_does_what_it_says"),
    Item(
        "table 5: the collections",
        ("benchmarks/papers/svm_map/splits.py",),
        f"{COMMAND}::test_every_query",
        "other collections: WT10g and its runs are not free",
    ),
    Item("the protocol of trials", (RUN,), f"{COMMAND}::test_every_query"),
    *(
        Item(f"table {number}", (RUN,), f"{COMMAND}::test_the_short_form", claims=f"table {number}")
        for number in range(6, 12)
    ),
    Item(
        "the authors' program (SVM-python, SVM-struct)",
        (),
        "",
        "absent: abound has its own solvers, compared with a general one",
    ),
)
