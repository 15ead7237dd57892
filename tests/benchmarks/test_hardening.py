"""The page of what can go wrong says what the result files say."""

from benchmarks.hardening.__main__ import PAGE, render


def test_the_page_says_what_was_measured():
    text = PAGE.read_text()
    assert render(text) == text
