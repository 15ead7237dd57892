"""The public data sets in the data folder are read whole."""

import os
from pathlib import Path

import pytest

from abound import data

FOLDER = Path(os.environ.get("ABOUND_DATA") or Path(__file__).parents[3] / "shared" / "data")
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no data folder; set ABOUND_DATA"),
]

# File, format, options, rows, labels altogether; the counts are those of the folder's own README files.
FILES = [
    ("rcv1-subsets/rcv1subset1_top944.svm.xz", None, {}, 6000, None),
    ("mulan/medical/medical-train.svm.xz", None, {}, None, None),
    ("letor-mq2008-part/Fold1-test.txt.xz", "letor", {}, 2874, 2874),
    ("letor-agg/A1.txt.xz", "letor", {}, None, None),
    ("ltr-mslr-5k/msn1.fold1.test.5k.txt.xz", "letor", {}, 5000, 5000),
    ("ltr-lightgbm/rank.test.xz", "svmlight", {}, 768, 768),
    ("trec-web-2012/ql-cata.run.xz", None, {}, 50_000, None),
    ("trec-web-2012/qrels.web.151-200.txt.xz", "trec-qrels", {}, 16_055, None),
    ("trec_eval-test/qrels.comment.test.xz", "trec-qrels", {}, None, None),
    ("trec_eval-test/results.test.xz", "trec-run", {}, None, None),
    ("ohsumed23/ohsumed_single_23.jsonl.xz", None, {"labels_field": "cls"}, 7400, 7400),
    (
        "wordnet-hypernym/wordnet31.jsonl.xz",
        None,
        {"text_field": "gloss", "labels_field": "hyper"},
        95_981,
        None,
    ),
    (
        "reuters21578/reuters21578.jsonl.xz",
        None,
        {"text_field": ["title", "body"], "labels_field": "topics"},
        21_578,
        None,
    ),
]


@pytest.mark.parametrize(("file", "name", "options", "n_rows", "n_labels"), FILES)
def test_a_public_file_is_read_whole(file, name, options, n_rows, n_labels):
    records = list(data.read(FOLDER / file, name, **options))
    assert records
    if n_rows is not None:
        assert len(records) == n_rows
    if n_labels is not None:
        assert sum(len(record.labels) for record in records) == n_labels


def test_the_names_of_the_finna_labels_are_read():
    names = data.read_label_names(FOLDER / "yso-finna-en" / "labels.tsv")
    assert len(names) == 27_754
    assert names["3"] == ["light reading"]
