"""Train on Spark: the driver of all stages. It only holds paths and a few numbers, never a model."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abound.components.blocks import MergeForm
from abound.rankers import ranker_class
from abound.rankers.validation import check_number
from abound.spark.jobs import (
    RESULT,
    Progress,
    check_column,
    check_frame,
    collect,
    map_in_arrow,
    measure_task,
    report_progress,
    run_tasks,
)
from abound.spark.layout import Layout
from abound.spark.passes import Learn, Merge, RunRows, Step, block_components, figures_of
from abound.spark.rows import add_counts, order_runs, restored_book, write_runs
from abound.spark.shared import is_model, open_encoder, open_model, open_ranker, publish, write_json
from abound.spark.wire import ORDER, SCHEMA
from abound.spark.writing import WriteArrays, write_next
from abound.store import encode_names
from abound.store.directory import DATA_FILE, link_array, read_manifest, write_array, write_manifest
from abound.tagger import Tagger
from abound.tagger.parts import NAME_ARRAYS, RANKER_PREFIX
from abound.tagger.training import HELD_ROWS, language_of
from abound.training.schedule import Plan, Round, schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INTEGERS = ("bigint", "int", "smallint", "tinyint")
LABELS = ("array<string>", "array<int>", "array<bigint>")
DELTAS_PER_BATCH = 64  # deltas that Spark passes to a merging task at once
TEXT_ARRAYS = ("term_starts", "term_lengths", "term_counts", "term_names", "text_counters")


@dataclass
class Report:
    """The result of a training on Spark.

    Attributes
    ----------
    model : str
        The model directory.
    state_hash : str
        The hash of the learned state. It is the same with as many shards on one machine.
    rows, labels, features : int
        Numbers of learned rows, labels and terms.
    stages : list of dict
        For each stage that ran: name, seconds, tasks, the largest `peak_bytes` of a task, the largest `added_bytes` of
        a task beyond the earlier memory of its process, and the bytes of deltas.
    """

    model: str
    state_hash: str
    rows: int
    labels: int
    features: int
    stages: list[dict[str, Any]] = field(default_factory=list)


def fit(
    df: "DataFrame",
    model: str | Path,
    *,
    text: str = "text",
    labels: str = "labels",
    row: str = "row",
    ranker: str = "cascade",
    ranker_params: Mapping[str, Any] | None = None,
    passes: int | None = None,
    shards: int | None = None,
    work: str | Path | None = None,
    resume: bool = False,
    keep_work: bool = False,
    progress: Progress | None = None,
    **text_params: Any,
) -> Report:
    """Train a tagger on the rows of a DataFrame, and write its model directory.

    The model is identical, byte for byte, to that of `Tagger(ranker, ranker_params={"shards": shards}).fit` on the rows
    in the order of their numbers. Rows have no weights: neither `sample_weight` nor `class_weight` can be used.

    Parameters
    ----------
    df : DataFrame
    model : path
        The model directory, on a path that driver and executors share.
    text, labels, row : str
        Columns of the texts, of their lists of labels, and of unique integers that order the rows.
    ranker : {"cascade", "feature-focus"}
    ranker_params : dict, optional
        Parameters of the ranker.
    passes : int, optional
        Number of passes over the rows.
    shards : int, optional
        Number of shards: ranges of rows that are learned by separate tasks and merged in rounds. By default, the
        number of cores.
    work : path, optional
        Shared directory for rows and models between stages; by default, beside the model. It is removed at the end.
    resume : bool
        Continue an interrupted call with the same rows and parameters.
    keep_work : bool
        Do not remove the work directory.
    progress : callable, optional
        Called with the name of the stage, the number of finished tasks and the number of tasks.
    **text_params
        `language`, as in `Tagger`, and parameters of `abound.text.TextEncoder`, except `max_terms`.

    Returns
    -------
    Report
    """
    check_frame(df)
    check_column(df, text, "the texts", ("string",))
    check_column(df, labels, "the labels", LABELS)
    check_column(df, row, "the row numbers", INTEGERS)
    spark = df.sparkSession
    if shards is None:
        shards = spark.sparkContext.defaultParallelism
    check_number("shards", shards, 1)
    if "shards" not in ranker_class(ranker).param_names():
        raise ValueError(f"a {ranker!r} ranker cannot be trained in shards; it has no parameter shards")
    params = {**(ranker_params or {}), "shards": shards, **({} if passes is None else {"passes": passes})}
    if text_params.get("embeddings") is not None:
        raise ValueError("training on Spark learns words only, and takes no embeddings; use Tagger.fit")
    tagger = Tagger(ranker, ranker_params=params, **text_params)
    if not block_components(tagger.ranker):
        raise ValueError(f"a {ranker!r} ranker cannot be trained on Spark: its components cannot be merged in blocks")
    if tagger.encoder.max_terms is not None:
        raise ValueError("max_terms depends on the order of the terms, so it cannot be used on a cluster; leave it out")
    if tagger.encoder.fields is not None or tagger.encoder.field_weights is not None:
        raise ValueError("texts have no fields on a cluster; leave fields and field_weights out")
    if tagger.ranker.class_weight is not None:
        raise ValueError("rows have no weights on a cluster; leave class_weight out")
    frame = df.select(df[row].cast("bigint").alias("row"), df[text].alias("text"), df[labels].alias("labels"))
    if tagger.detects_language:
        tagger.set_language(detect_language(frame, tagger.seed))
    target = Path(model)
    _check_target(target, resume)
    training = Training(spark, tagger, target, Path(work) if work else Path(f"{target}.work"), progress)
    report = training.run(frame, resume)
    if not keep_work:
        shutil.rmtree(training.work, ignore_errors=True)
    return report


def detect_language(frame: "DataFrame", seed: int) -> str | None:
    """Detect the language of the texts from a sample of the first rows, as a training on one machine does."""
    first = frame.orderBy("row").limit(HELD_ROWS).select("text")
    return language_of((row["text"] or "" for row in first.toLocalIterator()), seed).language


def _check_target(path: Path, resume: bool) -> None:
    if not path.exists() or is_model(path):
        return
    # A driver that was killed at the very end has left files of the model without a manifest.
    if not path.is_dir() or not all(resume and DATA_FILE.fullmatch(old.name) for old in path.iterdir()):
        raise FileExistsError(f"{path} is not empty and holds no model; give a new or an empty directory")


class StartModel:
    """Write the initial model of the first pass, with all labels and nothing learned."""

    def __init__(self, counts: str, target: str, params: dict[str, Any], n_rows: int, n_terms: int) -> None:
        self.counts, self.target, self.params, self.n_rows, self.n_terms = counts, target, params, n_rows, n_terms

    def __call__(self, _number: int) -> dict[str, Any]:
        """Write the model; return what the driver needs to know about it."""
        settings = dict(self.params)
        tagger = Tagger(settings.pop("ranker"), ranker_params=settings.pop("ranker_params"), **settings)
        ranker = tagger.ranker
        ranker.labels_ = restored_book(open_model(self.counts))
        ranker.n_rows_seen_ = self.n_rows
        ranker.set_columns(self.n_terms, "lists")
        ranker.choose_form(self.n_rows)
        plan = ranker.plan(self.n_rows)
        ranker.count_learned(self.n_rows - plan.held_out)
        publish(Path(self.target), {"kind": ranker.kind, **ranker.content()}, ranker.arrays())
        components = block_components(ranker)
        return {
            "components": {component.kind: component.merge_params for component in components},
            "offset": max(component.offset for component in components),
            "labels": len(ranker.labels_),
            "plan": plan._asdict(),
            "calibrates": ranker.calibrates,
        }


class CalibrateModel:
    """Calibrate the last model on the rows that no pass has visited, and learn these; one task holds the model."""

    def __init__(self, base: str, target: str, counts: str, tagger: Tagger, runs: list[dict[str, Any]]) -> None:
        self.base, self.target, self.counts, self.runs = base, target, counts, runs
        self.text_params = tagger.encoder.params()

    def __call__(self, _number: int) -> dict[str, Any]:
        """Write the calibrated model."""
        with measure_task() as figures:
            encoder, ranker = open_encoder(self.counts, self.text_params), open_ranker(self.base)
            source = RunRows(self.runs, encoder, ranker.labels_)
            ranker.calibrate_on(source, None)
            publish(Path(self.target), {"kind": ranker.kind, **ranker.content()}, ranker.arrays())
        return dict(figures)


class Training:
    """A training and its work directory, where each finished stage leaves a small file."""

    def __init__(
        self, spark: "SparkSession", tagger: Tagger, target: Path, work: Path, progress: Progress | None
    ) -> None:
        self.work, self.target, self.tagger, self.progress = work.absolute(), target.absolute(), tagger, progress
        self.spark = spark.newSession()  # separate settings on the same executors
        self.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(DELTAS_PER_BATCH))
        self.cores = spark.sparkContext.defaultParallelism
        self.text_params = tagger.encoder.params()
        self.seed = tagger.seed
        self.shards = tagger.ranker.n_shards
        self.stages: list[dict[str, Any]] = []

    def run(self, frame: "DataFrame", resume: bool) -> Report:
        """Run all stages that are not done yet."""
        plan = {"params": self.tagger.params(), "input": self.fingerprint(frame)}
        self.open_work(json.loads(json.dumps(plan)), resume)
        runs = self.run_once("rows", lambda: self.sort_rows(frame))
        counts = self.run_once("words", lambda: self.count_words([run["counts"] for run in runs]))
        labels_type = dict(frame.dtypes)["labels"]
        ordered = self.run_once("order", lambda: self.order_rows(runs, labels_type))
        n_rows = sum(run["rows"] for run in runs)
        n_terms = read_manifest(Path(counts))["files"]["term_starts"]["shape"][0]
        start = str(self.work / "model-00000")
        form = self.run_once("start", lambda: self.start(counts, start, n_rows, n_terms))
        state = start
        for number, round_ in enumerate(schedule(n_rows, Plan(**form["plan"])), 1):
            state = self.round(number, state, (counts, ordered, n_terms), form, round_)
        if form["calibrates"]:
            state = self.calibrate(state, counts, ordered)
        found = self.finish(counts, state)
        return Report(str(self.target), found, n_rows, form["labels"], n_terms, self.stages)

    # -- bookkeeping -------------------------------------------------------------------------------

    def fingerprint(self, frame: "DataFrame") -> list[int]:
        """Return the number of rows and the sum of their hashes. Raise an error for missing values."""
        from pyspark.sql import functions as f

        whole = f.xxhash64("row", "text", "labels").cast("decimal(38,0)")
        missing = [f.count_if(f.col(name).isNull()) for name in ("row", "text", "labels")]
        missing.append(f.count_if(f.exists("labels", lambda label: label.isNull())))
        with report_progress(self.spark, "input", self.progress):
            n, total, *nulls = frame.agg(f.count("*"), f.sum(whole), *missing).first() or (0, 0)
        words = ("row number", "text", "list of labels", "name for a label")
        for count, word in zip(nulls, words, strict=True):
            if count:
                raise ValueError(f"{count} of {n} rows have no {word}")
        if not n:
            raise ValueError("there is nothing to learn: the DataFrame has no row")
        return [int(n), int(total)]

    def open_work(self, plan: dict[str, Any], resume: bool) -> None:
        """Create a work directory, or continue one with the same plan."""
        path = self.work / "plan.json"
        if path.exists():
            if not resume:
                raise FileExistsError(
                    f"{self.work} contains an interrupted training; "
                    "continue it with resume=True or --resume, or remove it"
                )
            if json.loads(path.read_text()) != plan:
                raise ValueError(f"{self.work} contains a training with other rows or parameters; remove it")
            return
        if self.work.exists() and any(self.work.iterdir()):
            raise FileExistsError(f"{self.work} is not empty and contains no training; give a new or empty directory")
        write_json(path, plan)

    def run_once(self, stage: str, do: Callable[[], Any]) -> Any:
        """Return the result of a stage. A finished stage is not run again."""
        path = self.work / f"{stage}.json"
        if not path.exists():
            write_json(path, do())
        return json.loads(path.read_text())

    def note(self, stage: str, begin: float, results: list[dict[str, Any]], **more: Any) -> None:
        """Record the statistics of a stage."""
        peak, added = (max((r.get(name, 0) for r in results), default=0) for name in ("peak_bytes", "added_bytes"))
        cpu = sum(result.get("cpu_seconds", 0.0) for result in results)
        figures = {"seconds": time.perf_counter() - begin, "tasks": len(results), "cpu_seconds": cpu}
        self.stages.append({"stage": stage, **figures, "peak_bytes": peak, "added_bytes": added, **more})

    # -- stages ------------------------------------------------------------------------------------

    def sort_rows(self, frame: "DataFrame") -> list[dict[str, Any]]:
        """Sort rows into runs on the shared path, and count the words and labels of each."""
        begin = time.perf_counter()
        runs = write_runs(frame, self.work, self.text_params, max(self.shards, self.cores), self.progress)
        self.note("rows", begin, runs, rows=sum(run["rows"] for run in runs))
        return runs

    def count_words(self, paths: list[str]) -> str:
        """Add the counts of all runs."""
        begin = time.perf_counter()
        counts, results = add_counts(self.spark, paths, self.work, self.text_params, self.progress)
        self.note("words", begin, results)
        return counts

    def order_rows(self, runs: list[dict[str, Any]], labels_type: str) -> list[dict[str, Any]]:
        """Sort rows into training order. The runs in the order of row numbers are no longer needed."""
        begin = time.perf_counter()
        ordered = order_runs(self.spark, runs, self.work, self.seed, labels_type, self.progress)
        self.note("order", begin, ordered)
        return ordered

    def start(self, counts: str, target: str, n_rows: int, n_terms: int) -> dict[str, Any]:
        """Write the empty model."""
        task = StartModel(counts, target, self.tagger.params(), n_rows, n_terms)
        return run_tasks(self.spark, 1, task, "start", self.progress)[0]

    def round(self, number: int, base: str, data: tuple[Any, ...], form: dict[str, Any], round_: Round) -> str:
        """Learn one round from a model, and write the next model; return its path."""
        target, parts = self.work / f"model-{number:05d}", self.work / f"parts-{number:05d}"
        if is_model(target):
            return str(target)
        counts, runs, n_terms = data
        n_shards, alone = len(round_.spans), self.shards == 1
        forms = {
            kind: MergeForm(form["labels"], n_shards, params, alone) for kind, params in form["components"].items()
        }
        layout = Layout.of(n_terms + form["offset"], n_shards, self.cores)
        paths = (base, str(target), str(parts), counts)
        step = Step(*paths, self.text_params, runs, layout, round_, forms, alone)
        shutil.rmtree(parts, ignore_errors=True)  # of an earlier, interrupted call
        begin = time.perf_counter()
        shards = self.spark.range(0, n_shards, 1, numPartitions=n_shards)
        sent = map_in_arrow(shards, Learn(step), SCHEMA)
        sent = sent.repartitionById(layout.buckets, "bucket").sortWithinPartitions(*ORDER)
        results = collect(map_in_arrow(sent, Merge(step), RESULT), f"round {number}", self.progress)
        learned = [json.loads(figures_of(parts, shard).read_text()) for shard in range(n_shards)]
        n_bytes = sum(figures["delta_bytes"] for figures in learned)
        self.note(f"learn {number}", begin, learned, delta_bytes=n_bytes)
        self.note(f"merge {number}", begin, results)
        begin = time.perf_counter()
        widths = {kind: max(result["widths"][kind] for result in results) for kind in forms}
        write = WriteArrays(str(parts), str(target), layout, widths)
        _, written = write_next(self.spark, base, write, self.progress)
        self.note(f"write {number}", begin, written)
        shutil.rmtree(parts, ignore_errors=True)
        return str(target)

    def calibrate(self, base: str, counts: str, runs: list[dict[str, Any]]) -> str:
        """Write the calibrated model; return where it is."""
        target, begin = self.work / "model-calibrated", time.perf_counter()
        if not is_model(target):
            task = CalibrateModel(base, str(target), counts, self.tagger, runs)
            self.note("calibrate", begin, run_tasks(self.spark, 1, task, "calibrate", self.progress))
        return str(target)

    def finish(self, counts: str, state: str) -> str:
        """Combine vocabulary and ranker into the model directory of a tagger; return its state hash."""
        self.target.mkdir(parents=True, exist_ok=True)
        files: dict[str, Any] = {}
        for source, keys, prefix in ((counts, TEXT_ARRAYS, ""), (state, None, RANKER_PREFIX)):
            known = read_manifest(Path(source))["files"]
            for key in keys or known:
                link_array(self.target, prefix + key, Path(source), key, known[key])
                files[prefix + key] = known[key]
        none, offsets = encode_names([])
        for key in NAME_ARRAYS:
            files[key] = write_array(self.target, key, offsets if key.endswith("offsets") else none)
        content = {"kind": Tagger.kind, "params": self.tagger.params(), "form": "lists"}
        return write_manifest(self.target, content, files)
