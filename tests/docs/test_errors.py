"""The page of errors lists messages that exist, and every public exception and warning."""

from pathlib import Path

import pytest

from abound import errors as abound_errors
from docs_build import errors

pytestmark = pytest.mark.xdist_group("errors")  # the source is searched once, not by every worker


@pytest.fixture(scope="module")
def found() -> list[errors.Message]:
    return list(errors.messages())


@pytest.mark.parametrize("group", errors.listed()["group"], ids=lambda group: group["task"])
def test_every_listed_message_is_in_the_source(group: dict[str, object], found: list[errors.Message]) -> None:
    rows = group["rows"]
    assert isinstance(rows, list)
    for row in rows:
        assert errors.find(row["message"], found).text
        for part in ("cause", "remedy"):
            assert row[part].endswith((".", ")")), row
            assert row[part].count(". ") == 0, f"one sentence: {row[part]}"


def test_every_public_class_is_on_the_page_with_a_remedy() -> None:
    page = errors.page()
    for name, one in vars(abound_errors).items():
        if isinstance(one, type) and issubclass(one, Exception):
            assert f"| `{name}` |" in page
    assert set(errors.listed()["classes"]) == set(errors.classes())


def test_a_message_that_is_gone_or_not_clear_is_noticed(found: list[errors.Message]) -> None:
    with pytest.raises(LookupError, match="0 messages of the source contain 'no such sentence"):
        errors.find("no such sentence in abound", found)
    with pytest.raises(LookupError, match=r"errors\.toml must name one"):
        errors.find(" must be ", found)


def test_expressions_become_names_and_docstrings_are_not_messages(tmp_path: Path) -> None:
    source = 'def f(n):\n    """Say one two three."""\n    raise E(f"{n:,} rows of {self._at.file_name!r} are wrong")\n'
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "f.py").write_text(source)
    texts = [message.text for message in errors.messages(tmp_path / "x" / "y")]
    assert "<n> rows of <file name> are wrong" in texts
    assert "Say one two three." not in texts


def test_marks_of_markdown_in_a_message_are_escaped() -> None:
    assert errors.as_markdown("a|b <name>") == "a\\|b <em>name</em>"
