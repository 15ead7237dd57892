"""What the tasks do, without a cluster: deltas, their way through the shuffle, and blocks and buckets of any size."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from abound.components.blocks import MergeForm
from abound.spark import layout as layouts
from abound.spark.layout import Layout
from abound.spark.passes import Learn, Merge, Step
from abound.spark.rows import AddCounts, SendInTrainingOrder, WriteOrdered, WriteRun, read_rows
from abound.spark.shared import open_encoder, open_model, open_ranker
from abound.spark.training import CalibrateModel, StartModel
from abound.spark.writing import WriteArrays
from abound.store.directory import link_array, read_manifest, write_manifest
from abound.tagger import Tagger
from abound.training.schedule import Plan, schedule
from abound.training.source import skip_shuffle, training_order
from tests.spark.corpus import made_corpus

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.compute")
CASES = {
    "index": ("feature-focus", {}),
    "learned ratings": ("feature-focus", {"rating": "learned"}),
    "many labels": ("cascade", {"few_labels": 0, "rounds": 1}),
    "few labels": ("cascade", {"rounds": 1}),
}


def rows_batch(rows):
    schema = pa.schema([("row", pa.int64()), ("text", pa.string()), ("labels", pa.list_(pa.string()))])
    return pa.record_batch([list(column) for column in zip(*rows, strict=True)], schema=schema)


def in_training_order(runs, work, seed):
    """Shuffle and sort the rows of runs as Spark would."""
    ids = iter([pa.record_batch([list(range(len(runs)))], names=["id"])])
    sent = pa.Table.from_batches(SendInTrainingOrder(runs, seed, len(runs))(ids))
    ordered = []
    for part in range(len(runs)):
        rows = sent.filter(pa.compute.equal(sent["part"], part)).sort_by("key")
        (result,) = WriteOrdered(work)(iter(rows.to_batches(50)))
        ordered.append(json.loads(result.column(0)[0].as_py()))
    return ordered


class Unclustered:
    """Runs, counts and a starting model as the stages before a pass leave them."""

    def __init__(self, work, ranker, params, shards, n_runs=3, n_rows=300):
        rows = made_corpus().numbered()[:n_rows]
        self.texts, self.labels = [row[1] for row in rows], [row[2] for row in rows]
        self.tagger = Tagger(ranker, language=None, ranker_params={**params, "shards": shards})
        text_params = self.tagger.encoder.params()
        cuts = [rows[i * len(rows) // n_runs : (i + 1) * len(rows) // n_runs] for i in range(n_runs)]
        writer = WriteRun(work, text_params)
        self.runs = [writer.write(i, iter([rows_batch(cut[:40]), rows_batch(cut[40:])])) for i, cut in enumerate(cuts)]
        counts = str(work / "counts" / "whole")
        AddCounts([[run["counts"] for run in self.runs]], [counts], text_params)(0)
        self.runs = in_training_order(self.runs, work, self.tagger.seed)
        self.n_terms = read_manifest(work / "counts" / "whole")["files"]["term_starts"]["shape"][0]
        start = str(work / "model-00000")
        form = StartModel(counts, start, self.tagger.params(), len(rows), self.n_terms)(0)
        self.rounds = list(schedule(len(rows), Plan(**form["plan"])))
        self.calibrates = form["calibrates"]
        round_, alone = self.rounds.pop(0), shards == 1
        forms = {
            kind: MergeForm(form["labels"], len(round_.spans), given, alone)
            for kind, given in form["components"].items()
        }
        places = (start, str(work / "model-00001"), str(work / "parts-00001"), counts)
        layout = Layout.of(self.n_terms + form["offset"], shards, 2)
        self.step = Step(*places, text_params, self.runs, layout, round_, forms, alone)

    def learn(self):
        """Run the learning tasks; return all rows that they send."""
        sent = []
        for shard in range(len(self.step.round.spans)):
            for batch in Learn(self.step)(iter([pa.record_batch([[shard]], names=["id"])])):
                sent += batch.to_pylist()
        return sent

    def merge(self, sent):
        """Shuffle and sort as Spark would, merge every bucket and write the next model."""
        results = []
        for bucket in range(self.step.layout.buckets):
            rows = sorted(
                (row for row in sent if row["bucket"] == bucket), key=lambda r: (r["kind"], r["block"], r["shard"])
            )
            (result,) = Merge(self.step)(iter([pa.RecordBatch.from_pylist(rows)]))
            results.append(json.loads(result.column(0)[0].as_py()))
        widths = {kind: max(result["widths"][kind] for result in results) for kind in self.step.forms}
        write = WriteArrays(*self.step[2:0:-1], self.step.layout, widths)
        self.step_target().mkdir()
        found = {}
        for number in range(len(write.names)):
            found |= write(number)
        return found, results

    def step_target(self):
        return Path(self.step.target)

    def publish(self, found):
        """Make what was merged the next model, and let the next pass begin with it."""
        old, target = Path(self.step.base), self.step_target()
        content = read_manifest(old)
        for key, entry in content["files"].items():
            if key not in found:
                link_array(target, key, old, key, entry)
        files = {**content.pop("files"), **found}
        write_manifest(target, {key: content[key] for key in ("kind", "params", "columns")}, files)
        further = {name: str(target.parent / f"{name}-00002") for name in ("model", "parts")}
        round_ = self.rounds.pop(0) if self.rounds else self.step.round
        self.step = self.step._replace(base=str(target), target=further["model"], parts=further["parts"], round=round_)

    def calibrate(self):
        """Calibrate the last model if its ranker does; return where the model is."""
        if not self.calibrates:
            return self.step.base
        target = str(Path(self.step.base).parent / "model-calibrated")
        CalibrateModel(self.step.base, target, self.step.counts, self.tagger, self.runs)(0)
        return target


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("lists", [1 << 16, 300])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_blocks_and_buckets_do_not_change_the_model(case, shards, lists, passes, tmp_path, monkeypatch):
    monkeypatch.setattr(layouts, "LISTS_PER_BLOCK", lists)
    ranker, params = CASES[case]
    cluster = Unclustered(tmp_path, ranker, {**params, "passes": passes}, shards)
    for _ in range(passes):
        found, _ = cluster.merge(cluster.learn())
        cluster.publish(found)
    local = cluster.tagger.fit(cluster.texts, cluster.labels)
    assert open_ranker(cluster.calibrate()).state_hash() == local.ranker.state_hash()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("case", ["many labels", "few labels"])
def test_held_out_rows_calibrate_the_same_model(case, shards, tmp_path):
    ranker, params = CASES[case]
    cluster = Unclustered(tmp_path, ranker, {**params, "passes": 1}, shards, n_rows=1_100)
    found, _ = cluster.merge(cluster.learn())
    cluster.publish(found)
    local = cluster.tagger.fit(cluster.texts, cluster.labels)
    assert local.ranker.calibration_.n_rows > 50
    assert open_ranker(cluster.calibrate()).state_hash() == local.ranker.state_hash()


def test_a_shard_sends_only_what_it_has_met(tmp_path):
    cluster = Unclustered(tmp_path, "cascade", {"few_labels": 0}, 3)
    met = {shard: set() for shard in range(3)}
    for row in cluster.learn():
        if row["kind"] == "rated_votes":
            start, _ = cluster.step.layout.span(row["block"])
            met[row["shard"]] |= {start + int.from_bytes(row["features"][i : i + 4], "little")
                                  for i in range(0, len(row["features"]), 4)}  # fmt: skip
    whole = cluster.tagger.fit(cluster.texts, cluster.labels).encoder
    order = training_order(len(cluster.texts), cluster.tagger.seed)
    for shard, (start, stop) in enumerate(cluster.step.round.spans):
        texts = [cluster.texts[i] for i in order[start:stop]]
        assert met[shard] == set(whole.rows(texts)[1].tolist())


def test_a_task_that_runs_twice_leaves_the_same(tmp_path):
    cluster = Unclustered(tmp_path, "cascade", {"few_labels": 0}, 2)
    sent = cluster.learn()
    assert cluster.learn() == sent  # all of it, or Spark gives up a job of which it has lost a part
    found, _ = cluster.merge(sent)
    cluster.step_target().rename(tmp_path / "first")
    again, _ = cluster.merge(sent)
    assert found == again
    assert not list(tmp_path.glob("**/.writing-*"))
    assert [json.loads(path.read_text())["rows"] for path in sorted(tmp_path.glob("parts*/shard*"))] == [150, 150]


def test_rows_are_read_across_runs(tmp_path):
    cluster = Unclustered(tmp_path, "cascade", {}, 2)
    for start, stop in ((0, 300), (0, 1), (99, 101), (137, 262), (299, 300), (50, 50)):
        chunks, order = list(read_rows(cluster.runs, start, stop, chunk=33)), training_order(300, 0)[start:stop]
        assert [text for texts, _ in chunks for text in texts] == [cluster.texts[row] for row in order]
        assert [names for _, labels in chunks for names in labels] == [cluster.labels[row] for row in order]


def test_counts_of_runs_add_up_to_those_of_the_corpus(tmp_path):
    cluster = Unclustered(tmp_path, "cascade", {}, 2, n_runs=5)
    local = cluster.tagger.fit(cluster.texts, cluster.labels)
    found = open_model(tmp_path / "counts" / "whole").arrays
    for key, array in local.encoder.arrays().items():
        assert found[key].tobytes() == array.tobytes()
    assert found["label_counts"].tolist() == local.label_counts.tolist()


def test_orders_of_later_passes_are_drawn_one_after_the_other():
    rounds = list(schedule(11, Plan(passes=3, shards=2, rounds=2, shuffles=True, seed=3)))
    random, drawn = np.random.default_rng(3), np.random.default_rng()
    assert [again for again, *_ in rounds] == [False] * 2 + [True] * 4
    assert [last for _, last, *_ in rounds] == [False] * 4 + [True] * 2
    for again, _, spans, states in rounds:
        for (start, stop), state in zip(spans if again else (), states or (), strict=True):
            drawn.bit_generator.state = state
            assert drawn.bit_generator.state == random.bit_generator.state
            skip_shuffle(stop - start, random)


def test_blocks_fall_into_buckets_in_order():
    for n_features, shards, cores in ((1, 1, 1), (100_000, 8, 2), (99_999, 300, 1), (5, 1 << 17, 4)):
        layout = Layout.of(n_features, shards, cores)
        blocks = [block for bucket in range(layout.buckets) for block in layout.blocks(bucket)]
        assert blocks == list(range(layout.n_blocks))
        assert all(layout.bucket_of(b) == bucket for bucket in range(layout.buckets) for b in layout.blocks(bucket))
        spans = [layout.span(block) for block in blocks]
        assert spans[0][0] == 0
        assert spans[-1][1] == n_features
        assert all(a[1] == b[0] for a, b in pairwise(spans))


def test_one_vocabulary_serves_a_process_but_not_other_parameters(tmp_path):
    cluster = Unclustered(tmp_path, "cascade", {}, 2)
    params = cluster.step.text_params
    encoder = open_encoder(cluster.step.counts, params)
    assert open_encoder(cluster.step.counts, dict(params)) is encoder
    assert open_encoder(cluster.step.counts, {**params, "min_count": 2}).min_count == 2
