"""README, the pages, the help texts and the docstrings avoid the words of docs_build/wording.txt."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from docs_build import wording

WORDS = wording.entries()


def test_the_documentation_avoids_the_listed_words() -> None:
    assert wording.check() == []


def test_the_list_is_long_and_has_a_standard_term_for_each_word() -> None:
    assert len(WORDS) >= 60
    assert all(word.instead.strip() for word in WORDS)
    assert len({word.pattern.pattern for word in WORDS}) == len(WORDS)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Return a small repository with a planted word in README, a page, and docstrings of Python and Cython."""
    (tmp_path / "docs" / "papers").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("# Title\n\nRows are learnt in order.\n")
    (tmp_path / "docs" / "page.md").write_text("It takes two passes, at\nthe most.\n")
    (tmp_path / "docs" / "papers" / "paper.md").write_text("Quoted: learnt.\n")
    (tmp_path / "src" / "module.py").write_text('def f():\n    """Do it.\n\n    Counts start anew.\n    """\n')
    (tmp_path / "src" / "kernel.pyx").write_text('cdef int f():\n    """Hand over a row."""\n')
    return tmp_path


def test_a_planted_word_is_reported_with_file_line_and_standard_term(planted: Path) -> None:
    found = [*wording.problems(wording.pages(planted), WORDS), *wording.problems(wording.docstrings(planted), WORDS)]
    assert "README.md:3: write 'learned' instead of 'learnt'" in found
    assert "docs/page.md:1: write 'at most' instead of 'at the most'" in found
    assert "src/module.py:4: write 'again' instead of 'anew'" in found
    assert "src/kernel.pyx:2: write 'pass' instead of 'Hand over'" in found
    assert not any("papers" in message for message in found)


def test_a_planted_word_in_a_help_text_is_reported_with_its_option() -> None:
    option = SimpleNamespace(opts=["--passes"], help="How often the rows are learnt.")
    command = SimpleNamespace(help="Train a model.", epilog=None, params=[option])
    found = list(wording.problems(wording.help_texts(iter([(("abound", "fit"), command)])), WORDS))
    assert found == ["abound fit --help, --passes:1: write 'learned' instead of 'learnt'"]


def test_code_links_comments_and_quotations_are_not_checked() -> None:
    text = '```bash\nlearnt\n```\n`learnt` [x](learnt.md) <!-- learnt -->\n> learnt\n"starts anew" was the old text.\n'
    assert list(wording.problems(iter([wording.Text("page.md", 1, text)]), WORDS)) == []
