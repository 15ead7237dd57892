"""Ranking on Spark is local ranking, row for row; the exported index ranks the same by SQL."""

from itertools import pairwise

import pytest

from abound import Tagger
from abound.spark import export_index, fit, query, rank, terms_table

K = 5


@pytest.fixture(scope="module")
def model(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rank") / "model"
    fit(frame, path, ranker_params={"few_labels": 0}, shards=2)
    return path


def test_ranking_on_spark_is_local_ranking(model, frame, corpus):
    tagger = Tagger.load(model)
    found = {row.row: (row.ranked, row.scores) for row in rank(frame, model, K).collect()}
    local = tagger.rank_many(corpus.texts, K)
    assert len(found) == len(corpus.texts)
    for (number, _, _), entries in zip(corpus.numbered(), local, strict=True):
        assert found[number] == ([entry.label for entry in entries], [entry.score for entry in entries])


def test_a_text_without_words_has_no_labels(spark, model):
    rows = [(1, None, 2.5), (2, "", 3.5)]
    ranked = rank(spark.createDataFrame(rows, "id int, body string, more double"), model, text="body", labels="top")
    assert ranked.columns == ["id", "body", "more", "top", "scores", "probabilities"]
    assert [tuple(row) for row in ranked.orderBy("id").collect()] == [(*row, [], [], []) for row in rows]


def test_what_cannot_be_ranked_is_said_in_one_sentence(model, frame, tmp_path):
    with pytest.raises(ValueError, match="column 'labels' already exists"):
        rank(frame, model, labels="labels")
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, got 0"):
        rank(frame, model, 0)
    Tagger().fit(["a"], [["b"]]).ranker.save(tmp_path / "ranker")
    with pytest.raises(ValueError, match="contains a 'cascade', not a tagger"):
        rank(frame, tmp_path / "ranker")


@pytest.mark.parametrize(
    ("ranker", "params"),
    [
        ("feature-focus", {}),
        ("feature-focus", {"rating": "learned", "d_max": 3}),
        ("feature-focus", {"rating": "none", "boolean": True, "d_max": None}),
        ("cascade", {"few_labels": 0, "candidates": 0}),
    ],
)
def test_the_exported_index_ranks_the_same_by_sql(ranker, params, spark, corpus, tmp_path):
    import duckdb

    tagger, texts = corpus.fit(ranker, 1, params), corpus.texts[:300]
    table, terms = str(tmp_path / "index.parquet"), terms_table(tagger, texts)
    assert export_index(tagger, table) > 1000
    connection = duckdb.connect()
    connection.read_parquet(table).create_view("label_index")
    connection.register("terms", terms)
    by_duckdb = connection.sql(query(K)).fetchall()
    spark.read.parquet(table).createOrReplaceTempView("label_index")
    spark.createDataFrame(terms).createOrReplaceTempView("terms")
    by_spark = [tuple(row) for row in spark.sql(query(K)).collect()]
    local = tagger.rank_many(texts, K + 1)
    n_compared = 0
    for found in (by_duckdb, by_spark):
        lists = [[] for _ in texts]
        for document, _, label, score in found:
            lists[document].append((label, score))
        for entries, ranked in zip(local, lists, strict=True):
            assert [score for _, score in ranked] == pytest.approx([entry.score for entry in entries[:K]], abs=2e-9)
            gaps = [a.score - b.score for a, b in pairwise(entries)]
            if all(gap == 0.0 or gap > 2e-9 for gap in gaps):  # else the order of summation decides
                assert [label for label, _ in ranked] == [entry.label for entry in entries[:K]]
                n_compared += 1
    assert n_compared > 1.8 * len(texts)


def test_a_ranker_that_weighs_every_label_has_no_table(corpus, tmp_path):
    tagger = corpus.fit("cascade", 1, {"few_labels": 100_000})
    with pytest.raises(ValueError, match="this one is a linear model"):
        export_index(tagger, tmp_path / "index.parquet")
    tagger = corpus.fit("cascade", 1, {"few_labels": 0})
    with pytest.raises(ValueError, match=r"without a second stage can be exported .*; train it with candidates=0"):
        export_index(tagger, tmp_path / "index.parquet")
    with pytest.raises(ValueError, match="k must be a whole number"):
        query(0)
