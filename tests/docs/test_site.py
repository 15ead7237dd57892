"""Test that the site builds in strict mode without broken links."""

import subprocess
import sys
from pathlib import Path

import pytest

from docs_build import hooks, links

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_links_lead_somewhere_and_nothing_is_fetched_from_other_hosts(site: Path) -> None:
    assert list(links.broken(site)) == []


def test_every_page_is_in_the_site(site: Path) -> None:
    for path in [*(ROOT / "docs").rglob("*.md"), *map(Path, hooks.generated())]:
        relative = path.relative_to(ROOT / "docs") if path.is_absolute() else path
        built = relative.parent / "index.html" if relative.stem == "index" else relative.with_suffix("") / "index.html"
        assert (site / built).exists(), relative


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="gone.html">x</a>', "is not there"),
        ('<a href="#gone">x</a>', "has no such anchor"),
        ('<script src="https://example.org/x.js"></script>', "fetches https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "fetches"),
    ],
)
def test_what_is_broken_is_noticed(html: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(html + '<a href="#here" id="here">y</a><a href="https://example.org">z</a>')
    (found,) = links.broken(tmp_path)
    assert said in found
