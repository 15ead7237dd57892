"""Files of public data sets are read whole; without a data folder, made files of the same formats."""

import pytest

from abound import data

pytestmark = pytest.mark.data

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
def test_a_public_file_is_read_whole(data_folder, made_counts, file, name, options, n_rows, n_labels):
    records = list(data.read(data_folder / file, name, **options))
    assert records
    if made_counts:
        n_rows, n_labels = made_counts[file], None if n_labels is None else made_counts[file]
    if n_rows is not None:
        assert len(records) == n_rows
    if n_labels is not None:
        assert sum(len(record.labels) for record in records) == n_labels


def test_the_names_of_the_finna_labels_are_read(data_folder, made_counts):
    file = "yso-finna-en/labels.tsv"
    names = data.read_label_names(data_folder / file)
    assert len(names) == made_counts.get(file, 27_754)
    assert names["3"] == ["light reading"]
