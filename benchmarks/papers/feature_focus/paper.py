"""The figures of the paper, as printed."""

COLUMNS = ("HR", "R1", "R5", "seconds", "d", "W")


def _row(*cells: str) -> dict[str, str]:
    return dict(zip(COLUMNS, cells, strict=True))


# The paper's data set for each of ours; its RCV1 has all words of 23,000 documents, so it is a different corpus.
SETS = {
    "reuters-10": "Small Reuters",
    "20news": "News Groups",
    "rcv1-subsets": "Reuters RCV1",
    "austen-words": "Jane Austen",
}
# Figure 8: rows, features, labels, features per row, labels per row.
DATA = {
    "reuters-10": ("9.4k", "33k", "10", "80.9", "1"),
    "20news": ("20k", "60k", "20", "80", "1"),
    "rcv1-subsets": ("23k", "47k", "414", "76", "2.08"),
    "austen-words": ("749k", "299k", "17.4k", "15.1", "1"),
}
# Figures 9 and 10.
COMPARISONS = {
    "reuters-10": {
        "FF first": _row("1.082", "0.860", "0.998", "0", "4.9", "55k"),
        "FF best": _row("1.066", "0.884 ± 0.009", "0.997", "0", "5", "73k"),
        "perceptron": _row("1.08", "0.871", "0.995", "4", "10", "74k"),
        "committee": _row("1.06", "0.891", "0.999", "40", "10", "74k+"),
        "SVM C=1": _row("1.052", "0.906 ± 0.009", "0.998", "11", "10", "74k+"),
        "frequency": _row("1.6", "0.42", "0.86", "-", "-", "-"),
    },
    "20news": {
        "FF first": _row("1.137", "0.798", "0.978", "2", "10", "113k"),
        "FF best": _row("1.085", "0.865 ± 0.005", "0.987", "2", "10", "171k"),
        "perceptron": _row("1.229", "0.728", "0.928", "20", "20", "189k"),
        "committee": _row("1.122", "0.830", "0.970", "220", "20", "189k+"),
        "SVM C=1": _row("1.102", "0.852 ± 0.005", "0.975", "92", "20", "189k+"),
        "frequency": _row("3.33", "0.05", "0.25", "-", "-", "-"),
    },
    "rcv1-subsets": {
        "FF first": _row("1.181", "0.763", "0.955", "6", "15.1", "181k"),
        "FF best": _row("1.164", "0.787 ± 0.008", "0.952", "24", "12.9", "223k"),
        "perceptron": _row("1.418", "0.621", "0.815", "70", "38", "760k"),
        "committee": _row("1.197", "0.769", "0.918", "750", "36", "760k+"),
        "SVM C=1": _row("1.17", "0.783 ± 0.01", "0.939", "520", "36", "4M"),
        "frequency": _row("4.58", "0.082", "0.348", "-", "-", "-"),
    },
    "austen-words": {
        "FF first": _row("2.71", "0.272 ± 0.002", "0.480", "40", "8.7", "1.5M"),
        "FF best": _row("2.73", "0.279 ± 0.002", "0.462", "160", "9.1", "1.6M"),
        "frequency": _row("10.3", "0.037", "0.15", "-", "-", "-"),
    },
}
BEST_SETTINGS = {
    "reuters-10": "margin 0.5, 1 pass",
    "20news": "margin 0.5, 1 pass",
    "rcv1-subsets": "margin 0.1, 4 passes",
    "austen-words": "margin 0.1, 4 passes",
}
# Figures 11, 13, 15 and 16: R1 of an option and of the default.
OPTIONS = {
    "reuters-10": {"no constraints": "0.884", "default": "0.884"},
    "20news": {"no constraints": "0.866", "no leak": "0.866", "no rating": "0.860", "default": "0.865"},
    "rcv1-subsets": {
        "no constraints": "0.787",
        "w_min 0.001": "0.786",
        "w_min 0.1": "0.761",
        "no leak": "0.780",
        "no rating": "0.758",
        "default": "0.787",
    },
    "austen-words": {"no constraints": "0.276", "default": "0.274"},
}
# Times of a single pass in figure 11: without constraints, with constraints.
PASS_SECONDS = {
    "reuters-10": ("0", "0"),
    "20news": ("3", "2"),
    "rcv1-subsets": ("40 to 50", "6"),
    "austen-words": ("3600", "41"),
}
# Figure 17: IND, Boolean FF after one pass, best Boolean FF, best FF; and the thresholds that IND chose.
BOOLEAN = {
    "20news": ("0.846 ± 0.006", "0.860 ± 0.006", "0.860 ± 0.005", "0.865 ± 0.005"),
    "rcv1-subsets": ("0.686 ± 0.009", "0.76 ± 0.01", "0.780 ± 0.008", "0.789 ± 0.008"),
}
P_IND = {"20news": "0.01", "rcv1-subsets": "0.3"}
# Section 6.4.4: mean in-degree of the first label.
DEGREES = {"20news": "6k", "rcv1-subsets": "4k"}
STRONG = {"rcv1-subsets": "300"}
