"""Test that every code block of README and the pages runs."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.blocks import FENCE, Block, blocks_of, run_page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_pages_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), tmp_path)


TRIED = """
Text.

```python
n = 6 * 7
```

```python
>>> n
42
```

<!-- not run: it would take a day -->
```bash
sleep 86400
```

```bash
export WORD=apple
echo "an $WORD pie, 0.1234"
```

<!-- output -->
```text
an apple pie, 0.12...
```
"""


def test_blocks_share_names_and_variables(tmp_path: Path) -> None:
    assert run_page(TRIED, tmp_path) == [Block(14, "bash", "sleep 86400\n", "not run: it would take a day")]


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        ("42", "43", "Expected"),
        ("6 * 7", "6 * seven", "seven"),
        ("pie, 0.12...", "pie, 0.13...", "printed was"),
        ("export WORD=apple", "false", "the shell stopped"),
        ("```python\nn", "```perl\nn", "nothing runs 'perl'"),
    ],
)
def test_a_wrong_block_is_noticed(right: str, wrong: str, reason: str, tmp_path: Path) -> None:
    assert right in TRIED
    with pytest.raises((AssertionError, NameError), match=reason):
        run_page(TRIED.replace(right, wrong, 1), tmp_path)


def test_a_block_waits_for_what_it_needs(tmp_path: Path) -> None:
    page = "<!-- needs: no.such.module -->\n```python\n1 / 0\n```\n\n<!-- needs: json -->\n```python\n1 / 0\n```\n"
    with pytest.raises(ZeroDivisionError):
        run_page(page, tmp_path)
    assert len(run_page(page.replace("needs: json", "needs: no.json"), tmp_path)) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_code_block_escapes_by_indentation(page: Path) -> None:
    prose = FENCE.sub("", page.read_text())
    found = re.findall(r"(?:\A|\n\n)(    +[^\s*|-].*)", prose)
    assert [line for line in found if not re.match(r" +(\d+\.|[*-]) ", line)] == [], "fence it, so that it is run"


def test_blocks_in_lists_lose_their_indent() -> None:
    assert [block.code for block in blocks_of("1. so:\n\n    ```python\n    a = 1\n    ```\n")] == ["a = 1\n"]
