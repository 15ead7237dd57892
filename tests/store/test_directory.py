"""The model directory: saved models load again, damaged ones are refused, and a crash leaves the old or the new one."""

import contextlib
import errno
import hashlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import abound
from abound.errors import DamagedModel, UnknownFormat
from abound.store import directory
from abound.store import names as naming
from abound.store.names import check_texts, decode_names, encode_names
from tests.rankers.streams import VARIANTS, stream
from tests.store.damage import broken, resealed, with_field

GOLDEN = Path(__file__).parent / "golden" / "feature-focus-1"
GOLDEN_HASH = (GOLDEN.parent / "feature-focus-1.hash").read_text().strip()


def files_of(path):
    return {p.name: p.read_bytes() for p in path.iterdir()}


@pytest.fixture
def ranker():
    return abound.FeatureFocus().fit(*stream())


@pytest.fixture
def saved(ranker, tmp_path):
    ranker.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_what_is_saved_comes_back(ranker, tmp_path):
    X, Y = stream()
    ranker = clone(ranker).fit(X, Y)
    ranker.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    assert type(loaded) is type(ranker)
    assert loaded.get_params() == ranker.get_params()
    assert loaded.state_hash() == ranker.state_hash()
    assert list(loaded.rank(X, 7)) == list(ranker.rank(X, 7))
    more_X, more_Y = stream(seed=5)
    assert loaded.partial_fit(more_X, more_Y).state_hash() == ranker.partial_fit(more_X, more_Y).state_hash()


def test_a_second_save_gives_the_same_bytes(ranker, saved, tmp_path):
    ranker.compact()
    ranker.save(tmp_path / "again")
    assert files_of(saved) == files_of(tmp_path / "again")


def test_learning_on_a_loaded_model_leaves_its_files_alone(saved):
    before = files_of(saved)
    abound.load(saved).partial_fit(*stream(seed=3))
    assert files_of(saved) == before


def test_saving_again_replaces_the_model_and_removes_the_old_files(saved):
    learnt = abound.load(saved).partial_fit(*stream(seed=3))
    learnt.save(saved)
    assert abound.load(saved).state_hash() == learnt.state_hash()
    manifest = json.loads((saved / "manifest.json").read_text())["content"]
    assert len(files_of(saved)) == 1 + len(manifest["files"])


def test_the_golden_model_of_format_1_still_loads():
    loaded = abound.load(GOLDEN)
    assert loaded.state_hash() == GOLDEN_HASH
    assert [label for label, _ in loaded.rank([[0, 0, 1, 0]])[0]] == ["naïve 🙂", "dog", 7]


def test_training_again_gives_the_golden_bytes(tmp_path):
    X = [[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 2, 0.25], [0, 1, 1, 0]]
    abound.FeatureFocus().fit(X, [["cat", "pet"], ["dog"], ["naïve 🙂"], ["dog", 7]]).save(tmp_path / "model")
    files, golden = files_of(tmp_path / "model"), files_of(GOLDEN)
    manifest, old = (json.loads(found.pop("manifest.json"))["content"] for found in (files, golden))
    assert files == golden
    params = old["params"] | {"n_jobs": 1, "shards": None, "class_weight": None}  # newer parameters
    assert manifest == old | {"format_version": 5, "params": params}


def test_a_smaller_d_max_at_load_takes_less_memory_and_ranks_like_one_trained_so(ranker, saved):
    X, _ = stream(seed=4)
    small = abound.load(saved, d_max=2)
    whole = abound.load(saved)
    assert small.n_edges_ < whole.n_edges_ / 2
    assert list(small.rank(X, 9)) == list(whole.set_params(d_max=2).rank(X, 9))


def test_parameters_can_be_replaced_at_load_but_not_invented(saved):
    assert abound.load(saved, margin=0.1).margin == 0.1
    with pytest.raises(ValueError, match="has no parameter 'depth'; it has margin, w_min"):
        abound.load(saved, depth=3)


def test_every_flipped_bit_is_noticed(saved):
    rng = np.random.default_rng(0)
    expected = abound.load(saved).state_hash()
    for path in sorted(saved.iterdir()):
        original = path.read_bytes()
        for bit in rng.integers(8 * len(original), size=40):
            damaged = bytearray(original)
            damaged[bit // 8] ^= 1 << (bit % 8)
            path.write_bytes(damaged)
            with contextlib.suppress(DamagedModel, UnknownFormat):
                # A flip in the manifest's white space may be harmless.
                assert abound.load(saved).state_hash() == expected
        path.write_bytes(original)


def test_every_cut_is_noticed(saved):
    for path in sorted(saved.iterdir()):
        original = path.read_bytes()
        for length in {0, 1, len(original) // 2, len(original) - 2}:
            path.write_bytes(original[:length])
            with pytest.raises((DamagedModel, UnknownFormat)):
                abound.load(saved)
        path.write_bytes(original)


@pytest.mark.parametrize("verify", [True, False])
def test_a_missing_file_is_named(saved, verify):
    next(saved.glob("edges-*.npy")).unlink()
    with pytest.raises(DamagedModel, match=r"edges-[0-9a-f]{16}\.npy is missing"):
        abound.load(saved, verify=verify)


def rewrite(saved, change):
    """Change the manifest's content and give it a proper checksum, as an attacker would."""
    content = json.loads((saved / "manifest.json").read_text())["content"]
    change(content)
    resealed(content)
    checksum = hashlib.sha256(directory._canonical(content)).hexdigest()
    (saved / "manifest.json").write_text(json.dumps({"checksum": checksum, "content": content}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["files"]["edges"].update(shape=[1 << 60]), "impossible shape"),
        (lambda c: c["files"]["edges"].update(shape=[-1]), "impossible shape"),
        (lambda c: c["files"]["edges"].update(shape=[1 << 40]), "does not match its shape"),
        (lambda c: c["files"]["edges"].update(shape=[]), "invalid type or shape"),
        (lambda c: c["files"]["edges"].update(dtype="object"), "invalid type or shape"),
        (lambda c: c["files"]["edges"].update(dtype="int64"), "does not match manifest"),
        (lambda c: c["files"]["edges"].update(sha256="../../etc/passwd"), "invalid checksum"),
        (lambda c: c["files"].update({"../x": c["files"].pop("edges")}), "invalid entry"),
        (lambda c: c["files"].pop("edges"), "does not hold what a FeatureFocus needs"),
        (lambda c: c.update(files=[]), "no list of files"),
        (lambda c: c["params"].update(margin=-1), "parameters cannot be used: margin must be between 0"),
        (lambda c: c["params"].update(surprise=1), "parameters cannot be used"),
    ],
)
def test_a_hostile_manifest_is_refused(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(DamagedModel, match=message):
        abound.load(saved)


def test_a_manifest_with_a_number_that_is_not_finite_is_refused(saved):
    content = json.loads((saved / "manifest.json").read_text())["content"]
    content["note"] = float("nan")
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    (saved / "manifest.json").write_text(json.dumps({"checksum": checksum, "content": content}))
    with pytest.raises(DamagedModel, match=r"manifest\.json cannot be read"):
        abound.load(saved)


def test_a_file_with_a_few_holes_is_read(tmp_path):
    directory.write_model(tmp_path, {"kind": "zeros"}, {"zeros": np.zeros(1 << 16)})
    file = next(tmp_path.glob("zeros-*.npy"))
    raw = file.read_bytes()
    with file.open("wb") as sparse:
        sparse.write(raw[: raw.index(b"\n") + 1])
        sparse.truncate(len(raw))
    assert directory.read_model(tmp_path).arrays["zeros"].tolist() == [0.0] * (1 << 16)


def test_other_formats_are_told_apart(saved, tmp_path):
    rewrite(saved, lambda c: c.update(format_version=99))
    with pytest.raises(UnknownFormat, match="format version 99; this version of abound reads 1 and 2"):
        abound.load(saved)
    rewrite(saved, lambda c: c.update(format_version=1, kind="oracle"))
    with pytest.raises(UnknownFormat, match="holds a 'oracle'"):
        abound.load(saved)
    with pytest.raises(UnknownFormat, match=r"is not a model: it has no manifest\.json"):
        abound.load(tmp_path)
    with pytest.raises(UnknownFormat, match=r"there is no model .*nowhere: no such file or directory"):
        abound.load(tmp_path / "nowhere")


def test_repeated_and_nested_json_is_refused(saved):
    (saved / "manifest.json").write_text('{"content": 1, "content": 2}')
    with pytest.raises(DamagedModel, match="a key occurs twice"):
        abound.load(saved)
    (saved / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(DamagedModel, match="cannot be read"):
        abound.load(saved)


@pytest.mark.skipif(os.name == "nt", reason="making a link needs a privilege there")
def test_links_are_not_followed(saved, tmp_path):
    target = next(saved.glob("edges-*.npy"))
    target.rename(tmp_path / "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedModel, match="cannot be opened as a plain file"):
        abound.load(saved)


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("edges", with_field("label", 3, 10_000), "a label that does not exist"),
        ("edges", with_field("label", 3, -1), "a label that does not exist"),
        ("edges", with_field("weight", 0, np.nan), "negative or infinite weight"),
        ("edges", with_field("weight", 0, np.inf), "negative or infinite weight"),
        ("edges", with_field("weight", 1, 1e9), "not sorted"),
        ("edges", lambda a: np.repeat(a, 2), "does not begin at 0 and end"),
        ("edge_indptr", with_field(None, 1, -5), "indptr decreases"),
        ("edge_indptr", with_field(None, 1, 1 << 40), "indptr decreases or exceeds"),
        ("edge_indptr", lambda a: a[:-1], "disagree about the number of features"),
        ("feature_totals", with_field(None, 0, -1.0), "negative or infinite total"),
        ("feature_totals", with_field(None, 0, 0.0), "edges but no total"),
        ("feature_seen", with_field(None, 0, -1), "has a negative count"),
        ("feature_seen", lambda a: a.astype(np.int32), "does not hold what a FeatureFocus needs"),
        ("label_counts", lambda a: a[:-1], "counts do not match the names"),
        ("label_offsets", with_field(None, 1, 1 << 40), "offsets of the names"),
        ("label_names", with_field(None, 0, ord("x")), "a name cannot be read"),
    ],
)
def test_arrays_that_a_kernel_could_trip_over_are_refused(saved, key, change, message):
    broken(saved, key, change)
    with pytest.raises(DamagedModel, match=message):
        abound.load(saved, verify=False)


def test_a_crash_while_saving_leaves_the_old_model(ranker, saved, monkeypatch):
    expected = ranker.state_hash()
    ranker.partial_fit(*stream(seed=8))
    real, calls = os.replace, []

    def fail_at(n):
        def replace(a, b):
            calls.append(b)
            if len(calls) > n:
                raise OSError("no space left on device")
            real(a, b)

        return replace

    n_files = len(files_of(saved))
    for step in range(n_files):
        calls.clear()
        monkeypatch.setattr(os, "replace", fail_at(step))
        with pytest.raises(OSError, match="no space left"):
            ranker.save(saved)
        assert abound.load(saved).state_hash() == expected
        assert not list(saved.glob(".writing-*"))
    monkeypatch.setattr(os, "replace", real)
    ranker.save(saved)
    assert abound.load(saved).state_hash() == ranker.state_hash() != expected


def test_a_folder_with_other_things_is_not_written_into(ranker, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="is not empty and is not a model"):
        ranker.save(tmp_path)


def test_a_reader_that_meets_a_writer_reads_the_new_model(saved, monkeypatch):
    newer = abound.load(saved).partial_fit(*stream(seed=3))
    real = directory.read_manifest

    def read_then_replace(path):
        content = real(path)
        monkeypatch.setattr(directory, "read_manifest", real)
        newer.save(saved)
        return content

    monkeypatch.setattr(directory, "read_manifest", read_then_replace)
    assert abound.load(saved).state_hash() == newer.state_hash()


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_a_pickled_ranker_goes_on_as_before(ranker):
    ranker = clone(ranker).fit(*stream())
    copied = pickle.loads(pickle.dumps(ranker))  # noqa: S301  our own bytes, as joblib sends to its workers
    more = stream(seed=6)
    assert copied.partial_fit(*more).state_hash() == ranker.partial_fit(*more).state_hash()


def test_a_copied_model_replaces_another_one_and_has_no_other_files(saved, tmp_path):
    target = tmp_path / "target"
    abound.Rocchio().fit(*stream(seed=3)).save(target)
    (saved / "run.py").write_text("import os")
    directory.copy_model(saved, target)
    assert abound.load(target).state_hash() == abound.load(saved).state_hash()
    assert files_of(target) == {name: content for name, content in files_of(saved).items() if name != "run.py"}
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("Dear ...")
    with pytest.raises(FileExistsError, match="is not empty and is not a model"):
        directory.copy_model(saved, other)
    assert files_of(other) == {"letter.txt": b"Dear ..."}


def test_a_model_is_copied_to_a_disk_that_cannot_link_it(saved, tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", link)
    directory.copy_model(saved, tmp_path / "target")
    assert files_of(tmp_path / "target") == files_of(saved)


def test_the_names_of_files_are_those_on_the_disk_and_are_validated(saved):
    content = directory.read_manifest(saved)
    assert set(directory.data_files(content)) == {path.name for path in saved.glob("*.npy")}
    entry = next(iter(content["files"].values()))
    for files in ({"../up": entry}, {"a*": entry}, {"a": {**entry, "sha256": "../../x"}}, [], None):
        with pytest.raises(DamagedModel):
            directory.data_files({**content, "files": files})
    with pytest.raises(DamagedModel, match="at most 200 files"):
        directory.data_files({**content, "files": {f"a{'b' * n}": entry for n in range(201)}})


def test_names_keep_their_types():
    names = ["1", 2, 1.5, True, False, "", "\ud800", -7, 1e300]
    for given in (names, names[::-1]):
        found = list(decode_names(*encode_names(given)))
        assert [(type(name), name) for name in found] == [(type(name), name) for name in given]
    assert bytes(encode_names([True, False])[0]) == b"b1b0"
    with pytest.raises(TypeError, match="a name must be a string or a number, got bytes"):
        encode_names([b"bytes"])


@pytest.mark.parametrize("n", range(10))
def test_names_are_decoded_in_pieces(monkeypatch, n):
    monkeypatch.setattr(naming, "CHUNK", 4)
    names = [f"name {number}" for number in range(n)]
    assert list(decode_names(*encode_names(names))) == names


def test_a_name_without_a_type_is_refused():
    data, _ = encode_names(["cat"])
    for check in (decode_names, check_texts):
        with pytest.raises(DamagedModel, match="the offsets of the names do not match their bytes"):
            check(data, np.array([0, 4, 4], np.int64))
