"""The figures that the category-ranking paper prints, and the names of its measures."""

TABLES = {
    "learning": ("loss1", "loss2", "loss3"),  # tables 1 and 3
    "retrieval": ("OneErr", "Coverage", "AvgP", "maxF1/size", "maxF1/corpus", "maxF1/row"),  # tables 2 and 4
}
MEASURES = TABLES["learning"] + TABLES["retrieval"]
ROW_MEASURES = tuple(measure for measure in MEASURES if measure != "maxF1/corpus")  # one figure per document
PERCENT = ("loss1", "loss3", "OneErr")  # printed times 100, as in the paper
MORE_IS_BETTER = ("AvgP", "maxF1/size", "maxF1/corpus", "maxF1/row")

# The rows of MMP l.1 and l.2, and Rocchio's of table 1, are missing from our copy of the paper.
PRINTED = ("OneErr", "Coverage", "AvgP", "maxF1/size", "loss1", "loss2", "loss3")
PAPER = {
    "reuters-21578": {
        "Rocchio": dict(zip(PRINTED, (0.1448, 1.29, 0.90, 0.85), strict=False)),
        "Perceptron": dict(zip(PRINTED, (0.0959, 4.27, 0.91, 0.89, 0.1571, 4.87, 0.0313), strict=True)),
        "MMP l.3": dict(zip(PRINTED, (0.1451, 0.96, 0.90, 0.84, 0.1913, 0.92, 0.0060), strict=True)),
    },
    "Reuters-2000": {
        "Rocchio": dict(zip(PRINTED, (0.2442, 9.89, 0.73, 0.63, 0.7071, 12.42, 0.0333), strict=True)),
        "Perceptron": dict(zip(PRINTED, (0.0604, 9.45, 0.87, 0.86, 0.3886, 10.43, 0.0264), strict=True)),
        "MMP l.3": dict(zip(PRINTED, (0.0649, 3.98, 0.91, 0.87, 0.3457, 2.90, 0.0075), strict=True)),
    },
}
BESIDE = {"reuters-21578": PAPER["reuters-21578"], "rcv1-subsets": PAPER["Reuters-2000"]}
# Section 4.1 and 4.4: documents, labels, labels of a document, words, selected words, distinct words of a document.
PAPER_DATA = {
    "reuters-21578": {
        "documents": 10_789,
        "labels": 91,
        "labels a document": 1.24,
        "words": 25_061,
        "selected": 3_468,
        "distinct": (49, 37),
    },
    "rcv1-subsets": {
        "documents": 809_383,
        "labels": 102,
        "labels a document": 3.20,
        "words": 225_339,
        "selected": 9_325,
        "distinct": (137, 121),
    },
}
