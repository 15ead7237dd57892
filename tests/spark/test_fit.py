"""Training on Spark gives the bytes of as many local shards, whatever the files and their order."""

import pytest

from abound import Tagger
from abound.spark import fit

CASES = {
    "index": ("feature-focus", {"passes": 2}, {}),
    "learned ratings": ("feature-focus", {"rating": "learned"}, {"min_count": 2}),
    "cascade": ("cascade", {"few_labels": 0, "passes": 2, "rounds": 2}, {"ngrams": 1}),
    "cascade of few labels": ("cascade", {"few_labels": 100_000, "passes": 2, "rounds": 1}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_shards_on_spark_are_local_shards(case, frame, corpus, tmp_path):
    ranker, params, text = CASES[case]
    local = corpus.fit(ranker, 3, params, **text)
    report = fit(frame, tmp_path / "model", ranker=ranker, ranker_params=params, shards=3, **text)
    assert report.state_hash == local.state_hash()
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.state_hash() == local.state_hash()
    assert loaded.params() == local.params()
    assert (report.rows, report.labels, report.features) == (len(corpus.texts), loaded.n_labels, loaded.n_features)
    assert not (tmp_path / "model.work").exists()
    names = [stage["stage"] for stage in report.stages]
    assert names[:6] == ["rows", "words", "order", "learn 1", "merge 1", "write 1"]
    assert all(stage["peak_bytes"] > 0 for stage in report.stages)


def test_one_shard_is_no_shard(frame, corpus, tmp_path):
    params = {"few_labels": 0}
    report = fit(frame, tmp_path / "model", ranker_params=params, shards=1)
    assert report.state_hash == corpus.fit("cascade", 1, params).state_hash()


def test_shuffled_input_files_give_the_same_model(spark, corpus, tmp_path):
    rows = corpus.shuffled()[:400]
    schema = "labels array<string>, title string, number int"
    hashes = set()
    for number, order in enumerate((rows, sorted(rows))):
        turned = [(labels, text, row) for row, text, labels in order]
        path = str(tmp_path / f"{number}.parquet")
        spark.createDataFrame(turned, schema).repartition(number + 1).write.parquet(path)
        columns = {"text": "title", "labels": "labels", "row": "number"}
        report = fit(spark.read.parquet(path), tmp_path / f"model {number}", shards=2, **columns)
        hashes.add(report.state_hash)
    assert len(hashes) == 1


def test_progress_is_told_by_stage(frame, tmp_path):
    told = []
    fit(frame.limit(50), tmp_path / "model", shards=2, progress=lambda *what: told.append(what))
    assert {stage for stage, _, _ in told} >= {"rows", "round 1", "write"}
    assert all(0 <= done <= total for _, done, total in told)


def test_what_cannot_be_learnt_is_said_in_one_sentence(spark, frame, tmp_path):
    model = tmp_path / "model"
    with pytest.raises(TypeError, match="df must be a Spark DataFrame, got list"):
        fit([], model)
    with pytest.raises(ValueError, match="there is no column 'body' for the texts; the columns are row, text, labels"):
        fit(frame, model, text="body")
    with pytest.raises(ValueError, match="column 'text' for the row numbers must be of type bigint or int"):
        fit(frame, model, row="text")
    with pytest.raises(ValueError, match="a 'frequency' ranker cannot be trained in shards"):
        fit(frame, model, ranker="frequency", ranker_params={})
    with pytest.raises(ValueError, match="max_terms depends on the order"):
        fit(frame, model, max_terms=100)
    with pytest.raises(ValueError, match="texts have no fields on a cluster; leave fields and field_weights out"):
        fit(frame, model, field_weights={"title": 3})
    with pytest.raises(ValueError, match="rows have no weights on a cluster; leave class_weight out"):
        fit(frame, model, ranker_params={"class_weight": "balanced"})
    with pytest.raises(ValueError, match="shards must be at least 1, got 0"):
        fit(frame, model, shards=0)
    schema = "row long, text string, labels array<string>"
    for rows, words in (
        ([(1, "a", ["x"]), (2, None, ["x"])], "1 of 2 rows have no text"),
        ([(1, "a", ["x"]), (1, "b", ["x"])], "row numbers must be unique, but 1 occurs twice"),
        ([], "there is nothing to learn"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(spark.createDataFrame(rows, schema), model, work=tmp_path / words)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="holds no model"):
        fit(frame, tmp_path / "other")
    with pytest.raises(FileExistsError, match="holds no model"):
        fit(frame, tmp_path / "other", resume=True)
