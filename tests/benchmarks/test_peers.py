"""Short runs of the peers' table: cells resume, are assembled, and become tables and pictures."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from abound.metrics import compare, interval, judge
from benchmarks import sets
from benchmarks.peers import __main__ as command
from benchmarks.peers import accuracy, assembly, cells, pictures, tables
from benchmarks.peers.lines import lines_written
from benchmarks.peers.registry import PEERS, Peer


def made(n_rows=300, n_labels=12, seed=0, name="made"):
    """Return a set whose labels follow from two features each, with some noise."""
    rng = np.random.default_rng(seed)
    X, Y = np.zeros((n_rows, 40)), np.zeros((n_rows, n_labels), np.float32)
    for i in range(n_rows):
        label = min(int(rng.exponential(3)), n_labels - 1)
        X[i, [2 * label, 2 * label + 1, 24 + rng.integers(16)]] = 1.0, 0.5, 0.7
        Y[i, label] = 1
    cut = n_rows * 2 // 3
    parts = (sp.csr_matrix(m) for m in (X[:cut], Y[:cut], X[cut:], Y[cut:]))
    return sets.LabelSet(name, *parts)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A place for sets and cells of their own, with one set."""
    monkeypatch.setattr(sets, "CACHE", tmp_path / "sets")
    data = made()
    parts = ((data.X_train, data.Y_train), (data.X_test, data.Y_test))
    recipe = sets.Recipe(
        lambda: parts, lambda name, train, test: sets.LabelSet(name, *train, *test), lambda rows: (rows, rows)
    )
    monkeypatch.setitem(sets.RECIPES, "made", recipe)
    sets.load("made")
    return tmp_path


def test_a_cell_runs_once_and_its_second_run_ranks_the_same(store, monkeypatch):
    data = sets.load("made")
    cell, fresh = cells.run(data, "abound")
    assert fresh
    assert cell["runs"] == 1
    assert cell["train_seconds"] > 0
    assert cell["train_cpu_seconds"] >= 0
    assert cell["peak_megabytes"] > 20
    assert cell["model_bytes"] > 100
    again, fresh = cells.run(data, "abound", again=True)
    assert fresh
    assert again["runs"] == 2
    assert again["same_ranking"]
    assert again["ranking"] == cell["ranking"]
    assert again["train_seconds"] <= cell["train_seconds"]
    monkeypatch.setattr(cells, "once", lambda *_: pytest.fail("a known cell was run"))
    assert cells.run(data, "abound") == (again, False)


def test_changed_rows_settings_and_learners_make_a_cell_stale(store, monkeypatch):
    ran = []

    def once(peer, set_name, target):
        ran.append(set_name)
        return {"failed": "failed: not today"}

    monkeypatch.setattr(cells, "once", once)
    cells.run(sets.load("made"), "abound")
    cells.run(sets.load("made"), "abound")
    assert len(ran) == 1
    cells.run(made(seed=1), "abound")
    assert len(ran) == 2
    monkeypatch.setitem(PEERS, "abound", Peer("abound_cascade", None, "passes-2", kind="ours"))
    cells.run(made(seed=1), "abound")
    assert len(ran) == 3
    monkeypatch.setattr(cells, "LEARNERS", store)
    cells.run(made(seed=1), "abound")
    assert len(ran) == 4


def test_a_set_that_is_beyond_a_peer_is_listed_with_the_reason(store, monkeypatch):
    monkeypatch.setattr(cells, "once", lambda *_: pytest.fail("it was run"))
    monkeypatch.setitem(PEERS, "few", Peer("sklearn_sgd", "sklearn", most_labels=5))
    cell, _ = cells.run(sets.load("made"), "few")
    assert cell["failed"] == "not run: it trains a model for each of 12 labels"
    monkeypatch.setitem(PEERS, "short", Peer("sklearn_sgd", "sklearn", most_rows=100))
    assert cells.run(sets.load("made"), "short")[0]["failed"].startswith("not run: 200 rows are too many")


@pytest.mark.parametrize(
    ("code", "limits", "why"),
    [
        ("import time; time.sleep(60)", {"seconds": 0.3}, "not finished after 0.3 s"),
        ("x = bytearray(300_000_000); import time; time.sleep(60)", {"gigabytes": 0.1}, "not finished in 0.1 GB"),
        ("raise ValueError('a label too many')", {}, "failed: ValueError: a label too many"),
        ("pass", {}, None),
    ],
)
def test_limits_end_a_run_and_say_why(tmp_path, code, limits, why):
    assert cells.limited([sys.executable, "-c", code], tmp_path / "errors.txt", **limits) == why


def ranked(data, right, rng):
    """Return a ranking that has the true label first in a share of the rows."""
    n_rows, n_labels = data.Y_test.shape
    found = np.stack([rng.permutation(n_labels)[:10] for _ in range(n_rows)]).astype(np.int32)
    for i in np.flatnonzero(rng.random(n_rows) < right):
        true = data.Y_test[i].indices[0]
        found[i, np.flatnonzero(found[i] == true)] = found[i, 0]
        found[i, 0] = true
    return found, np.tile(np.arange(10, 0, -1.0), (n_rows, 1))


def put(data, peer, indices, scores, **figures):
    """Put a cell into the store that no system made."""
    path = cells.place(data.name, peer)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path.with_suffix(".npz"), indices=indices, scores=scores)
    common = dict.fromkeys((*cells.LEAST, *cells.MOST), 2.0) | {"model_bytes": 5, "ranking": "0", "runs": 1}
    named = {"name": peer, "setting": "defaults", "version": "1", "threads": 1}
    stamp = {"rows": cells.rows_digest(data), "system": ""}
    path.write_text(json.dumps({"stamp": stamp, **common, **named, **figures}))


@pytest.fixture
def result(store):
    data, rng = sets.load("made"), np.random.default_rng(0)
    shares = {"abound": 0.9, "abound-1": 0.8, "abound-2": 0.85, "omikuji": 0.5, "vw": 0.2, "minilm-linear": 0.95}
    for peer, right in shares.items():
        put(data, peer, *ranked(data, right, rng))
    cells.place("made", "pecos").write_text(json.dumps({"stamp": {"rows": cells.rows_digest(data)}, "failed": "late"}))
    return assembly.assemble(["made"])


def test_assembled_intervals_are_those_of_the_library(result):
    data = sets.load("made")
    counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
    judged = {
        peer: judge(
            sp.csr_array(data.Y_test),
            accuracy.Ranked(*cells.ranking("made", peer)),
            label_counts=counts,
            n_train_rows=data.X_train.shape[0],
        )
        for peer in ("abound", "omikuji")
    }
    found = result["sets"]["made"]["cells"]
    for measure in accuracy.MEASURES:
        assert found["omikuji"]["accuracy"][measure] == pytest.approx(interval(measure, judged["omikuji"]), abs=2e-6)
        expected = compare(measure, judged["abound"], judged["omikuji"])
        assert found["omikuji"]["ours_less_it"][measure] == pytest.approx(expected, abs=2e-6)
    assert "ours_less_it" not in found["abound"]
    assert found["pecos"] == {"failed": "late"}


def test_recall_by_frequency_counts_each_true_label_once(result):
    data = sets.load("made")
    found = result["sets"]["made"]
    assert sum(found["buckets"].values()) == data.Y_test.nnz
    counts = np.asarray(data.Y_train.sum(axis=0)).ravel()
    indices = cells.ranking("made", "omikuji")[0]
    hits = {bucket: [] for bucket in found["buckets"]}
    for i, label in zip(*data.Y_test.nonzero(), strict=True):
        for bucket in hits:
            first, _, last = bucket.rstrip("+").partition("-")
            if int(first) <= counts[label] <= (float("inf") if bucket.endswith("+") else int(last or first)):
                hits[bucket].append(label in indices[i, :5])
    expected = [np.mean(hit) if hit else None for hit in hits.values()]
    assert found["cells"]["omikuji"]["by_frequency"] == pytest.approx(expected, abs=1e-6)


def test_a_bucket_begins_with_its_first_number():
    counts = (0, 1, 2, 3, 4, 10, 11, 1001)
    train = np.zeros((1001, len(counts)), np.float32)
    for label, n in enumerate(counts):
        train[:n, label] = 1
    data = sets.LabelSet("edges", sp.eye_array(1001).tocsr(), sp.csr_matrix(train), None, sp.csr_matrix(np.eye(8)))
    pairs = dict(zip(accuracy.bucket_names(), accuracy.Measured(data).pairs_by_frequency(), strict=True))
    wanted = {"0": 1, "1": 1, "2-3": 2, "4-10": 2, "11-30": 1, "1001+": 1}
    assert {bucket: n for bucket, n in pairs.items() if n} == wanted


def test_a_cell_of_other_rows_is_left_out(store):
    data = sets.load("made")
    put(data, "abound", *ranked(data, 0.9, np.random.default_rng(0)))
    put(data, "omikuji", *ranked(data, 0.9, np.random.default_rng(0)), stamp={"rows": "older"})
    assert list(assembly.assemble(["made"])["sets"]["made"]["cells"]) == ["abound"]


def test_the_page_has_every_cell_and_says_where_we_stand(result):
    page = tables.page(result)
    for peer in ("abound", "abound-1", "omikuji", "vw"):
        assert page.count(f"| {peer} |") >= 4  # accuracy, cost, frequency and the systems
    assert "Not finished: pecos (late)." in page
    row = next(line for line in tables.summary(result) if line.startswith("| made, 12 |"))
    assert "| omikuji |" in row
    assert tables.standing(result, "made")["below"] == 0
    assert tables.standing(result, "made")["above"] >= 2  # P@1 and PSP@1 at least


def test_losses_are_listed_and_embeddings_stand_apart(result):
    assert tables.losses(result) == ["For none of the six measures on any data set."]
    assert [line.split(" | ")[1] for line in tables.embeddings(result)[2:4]] == ["abound", "minilm-linear"]
    omikuji = result["sets"]["made"]["cells"]["omikuji"]
    omikuji["accuracy"]["P@3"][0] = 2.0
    omikuji["ours_less_it"]["P@3"] = [-0.03, -0.05, -0.01]
    assert tables.losses(result)[2:] == ["| made | P@3 | omikuji | -0.0300 (-0.0500, -0.0100) |"]
    assert tables.standing(result, "made")["below"] == 1


def test_pictures_are_drawn(result, tmp_path):
    pytest.importorskip("matplotlib")
    pictures.draw(result, tmp_path / "images")
    assert len(list((tmp_path / "images").glob("peers-*.png"))) == 3


def test_the_command_runs_assembles_and_shows(store, monkeypatch, capsys):
    monkeypatch.setattr(command, "SETS", ("made",))
    output = str(store / "peers.json")
    command.main(["run", "--set", "made", "--peers", "abound-index"])
    command.main(["run", "--set", "made", "--peers", "abound-index"])
    assert "made, abound-index: trained in" in (said := capsys.readouterr().err)
    assert said.count("(known)") == 1
    command.main(["assemble", "--set", "made", "--json", output])
    command.main(["show", "--json", output])
    assert "abound-index" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--peers", "weka"], "unknown peer 'weka'; known are"),
        (["run", "--set", "iris"], "unknown set 'iris'; known are"),
        ([], "arguments are required: command"),
    ],
)
def test_the_command_says_what_it_needs(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert message in capsys.readouterr().err


def test_lines_of_a_script_are_those_that_use_the_system(tmp_path):
    (tmp_path / "harness.py").write_text("def run():\n    pass\n")
    (tmp_path / "base.py").write_text("import harness\n\nclass Base:\n    def rank(self):\n        return self.go()\n")
    script = tmp_path / "system.py"
    script.write_text(
        "import harness\nimport base\nimport peer\n\n\nclass System(base.Base):\n    def version(self):\n"
        '        return 1\n\n    def train(self):\n        """Say what."""\n        # why\n        return peer.fit(\n'
        "            1,\n        )\n"
    )
    assert lines_written(script) == 1 + 1 + 3  # of the base, the import, and three of training


def test_committed_pages_are_what_the_result_says():
    assert tables.PAGE.read_text() == tables.page(assembly.read())


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape", "labels"), [("bibtex", (4_880, 1_836), 159), ("rcv1-subset", (2_000, 944), 101)]
)
def test_recipes_of_given_vectors(data_folder, name, shape, labels):
    data = sets.load(name)
    assert data.X_train.shape == shape
    assert data.n_train_labels == labels
