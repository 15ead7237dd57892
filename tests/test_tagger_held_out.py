"""The figures of held-out rows: saved with a model, and validated when it is loaded."""

import pytest

from abound import Tagger
from abound.errors import DamagedModel
from abound.store.directory import read_manifest, replace_content
from abound.tagger.held_out import HeldOut, check_held_out

GOOD = {"rows": 3, "learned": 5, "measures": {"P@1": [0.5, 0.25, 1]}}


def test_figures_are_saved_and_no_part_of_the_state(tmp_path):
    tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    tagger.save(tmp_path / "plain")
    tagger.held_out = HeldOut(3, 5, {"P@1": (0.5, 0.25, 1.0)})
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.held_out == tagger.held_out
    assert loaded.state_hash() == Tagger.load(tmp_path / "plain").state_hash()
    assert "held_out" not in read_manifest(tmp_path / "plain")
    assert loaded.fit(["a red apple"], [["fruit"]]).held_out is None


def test_a_replaced_content_keeps_the_arrays(tmp_path):
    tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    tagger.save(tmp_path / "model")
    files = {path.name: path.stat().st_ino for path in (tmp_path / "model").glob("*.npy")}
    tagger.held_out = check_held_out(GOOD)
    replace_content(tmp_path / "model", {"kind": tagger.kind, **tagger.content()})
    assert {path.name: path.stat().st_ino for path in (tmp_path / "model").glob("*.npy")} == files
    assert Tagger.load(tmp_path / "model").held_out == (3, 5, {"P@1": (0.5, 0.25, 1)})


@pytest.mark.parametrize(
    "given",
    [
        [],
        "figures",
        {},
        {**GOOD, "rows": -1},
        {**GOOD, "rows": True},
        {**GOOD, "learned": 1.5},
        {**GOOD, "measures": {}},
        {**GOOD, "measures": {"P@1": 0.5}},
        {**GOOD, "measures": {"P@1": [0.5, 0.25]}},
        {**GOOD, "measures": {"P@1": [0.5, "low", 1]}},
        {**GOOD, "measures": {"P@1": [float("nan"), 0, 1]}},
        {**GOOD, "measures": {"x" * 21: [0, 0, 0]}},
        {**GOOD, "measures": {"a\nb": [0, 0, 0]}},
        {**GOOD, "measures": {f"P@{k}": [0, 0, 0] for k in range(21)}},
        {**GOOD, "measures": [["P@1", 0.5]]},
    ],
)
def test_other_figures_are_refused(given):
    with pytest.raises(DamagedModel, match="held-out figures"):
        check_held_out(given)
    assert check_held_out(None) is None
