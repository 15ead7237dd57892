"""What the commands say when a text has no ranking: on stderr, while stdout stays what it was."""

from pathlib import Path

from tests.cli.running import Run


def test_a_text_without_a_known_word(model: Path, run: Run) -> None:
    ranked = run("rank", model, "zebras unseen")
    assert (ranked.code, ranked.json) == (0, {"labels": []})
    assert ranked.err == "no label: no known word: none of its 2 words occurs in the training texts\n"
    assert "no known word" in run("rank", model, "--table", "--text", "zebras").err
    explained = run("explain", model, "zebras")
    assert (explained.code, explained.out) == (0, "")
    assert "no label to explain: no known word" in explained.err


def test_a_threshold_that_leaves_nothing(model: Path, run: Run) -> None:
    ranked = run("rank", model, "a red apple", "--threshold", 1e6)
    assert ranked.json == {"labels": []}
    assert ranked.err == "no label: none scores 1e+06 or more\n"
    assert run("rank", model, "a red apple").err == ""


def test_rows_without_a_known_word_are_counted(model: Path, run: Run) -> None:
    ranked = run("rank", model, "-", stdin="a red apple\nzebra\ngiraffe\n")
    assert [len(line["labels"]) > 0 for line in ranked.lines] == [True, False, False]
    assert "2 of 3 rows have no label: none of their words is known to the model\n" in ranked.err
