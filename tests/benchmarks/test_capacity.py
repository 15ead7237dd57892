"""The page on capacity, its calculator and its formulas agree with the result files."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks import capacity

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "capacity.md"
SCRIPT = ROOT / "docs" / "javascripts" / "capacity.js"
SERVED = {"requests_per_second": 2_500, "cores_per_machine": 3}
INPUTS = [
    {"rows": 100_000, "labels": 20_000, "words_per_text": 12, "labels_per_text": 2.5, "compound": False, **SERVED},
    {"rows": 90_000, "labels": 20_000, "words_per_text": 8.5, "labels_per_text": 2.2, "compound": True, **SERVED},
    {"rows": 5_000, "labels": 40, "words_per_text": 140, "labels_per_text": 1.0, "compound": False, **SERVED},
    {"rows": 40_000, "labels": 1_000, "words_per_text": 60, "labels_per_text": 4, "compound": False, **SERVED},
    {"rows": 1_000_000, "labels": 1_001, "words_per_text": 9, "labels_per_text": 2, "compound": True, **SERVED},
    {"rows": 1, "labels": 1, "words_per_text": 1, "labels_per_text": 1, "compound": False, **SERVED},
]


def test_the_stored_formulas_are_those_of_the_result_files():
    stored = capacity.read("capacity")
    assert capacity.assemble(stored["texts"]) == stored


def test_a_formula_finds_the_exponents_of_points_that_follow_it():
    known = [
        {"set": str(n), "rows": 10**n, "labels": 5_000, "words_per_text": 7 + n % 2, "labels_per_text": 1,
         "compound": False, "rank_microseconds": 3 * (7 + n % 2) ** 0.75}
        for n in range(2, 7)
    ]  # fmt: skip
    found = capacity.fit(known, "rank_microseconds")
    assert found["exponents"]["words_per_text"] == pytest.approx(0.75, abs=1e-4)
    assert math.exp(found["exponents"]["one"]) == pytest.approx(3, rel=1e-3)
    assert set(found["ratio"].values()) == {1.0}


def test_the_error_of_a_point_that_alone_determines_a_factor_is_not_stated():
    found = capacity.read("capacity")["formulas"]["train_seconds"]
    assert found["left_out"]["finna-fi-100k"] is None
    assert found["left_out"]["finna-100k"] is not None


def test_no_formula_is_off_by_half_at_a_known_point():
    for name, found in capacity.read("capacity")["formulas"].items():
        assert all(0.5 < ratio < 2 for ratio in found["ratio"].values()), name


def calculator(script: str) -> list[dict[str, float]]:
    """Run the calculator's function on all inputs, with the formulas of the page."""
    data = re.search(r'id="capacity-data">(.*?)</script>', PAGE.read_text())
    assert data is not None
    code = f"{script}\nconst [data, inputs] = JSON.parse(require('fs').readFileSync(0));"
    code += "console.log(JSON.stringify(inputs.map((one) => module.exports.estimateCapacity(one, data))))"
    done = subprocess.run(
        ["node", "-e", code], input=f"[{data[1]}, {json.dumps(INPUTS)}]", capture_output=True, text=True, check=True
    )
    found: list[dict[str, float]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_calculator_computes_what_python_computes():
    result = capacity.read("capacity")
    for given, found in zip(INPUTS, calculator(SCRIPT.read_text()), strict=True):
        assert found == pytest.approx(capacity.estimate(given, result), rel=1e-9)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_another_arithmetic_in_the_calculator_is_noticed():
    script = SCRIPT.read_text()
    assert "1e6 / constants.busy" in script
    found = calculator(script.replace("1e6 / constants.busy", "1e6"))
    assert found[2] != pytest.approx(capacity.estimate(INPUTS[2], capacity.read("capacity")), rel=1e-3)


def test_the_page_shows_every_output_and_reads_every_input():
    page = PAGE.read_text()
    asked = set(re.findall(r'<input name="(\w+)"', page))
    assert asked == set(INPUTS[0])
    assert set(re.findall(r'<output name="(\w+)"', page)) == set(
        capacity.estimate(INPUTS[0], capacity.read("capacity"))
    )
    assert "<noscript>" in page
