"""Test that the site builds in strict mode without broken links."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mkdocs.config import load_config
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from abound import __version__
from docs_build import hooks, links, screenshots, synonyms

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

pytestmark = pytest.mark.xdist_group("site")  # it is built once, not by every worker
ROOT = Path(__file__).parents[2]
PHONE: "ViewportSize" = {"width": 390, "height": 844}
WRONG = """async () => {
    const images = [...document.images].filter((one) => getComputedStyle(one).display !== "none");
    for (const one of images) one.loading = "eager";
    const failed = await Promise.all(images.map((one) => one.decode().then(() => "", () => `${one.src} is not shown`)));
    const width = document.documentElement.scrollWidth;
    return [...failed.filter(Boolean), ...(width > window.innerWidth ? [`${width} pixels wide`] : [])];
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = os.environ.get("ABOUND_SITE")  # a site that was built from the same files
    if built:
        return Path(built)
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


@pytest.mark.browser
def test_pages_fit_a_phone_and_show_every_picture(site: Path, browser: "Browser") -> None:
    found = _on_a_phone(site, browser)
    assert len(found) > 100
    assert {page: wrong for page, wrong in found.items() if wrong} == {}


@pytest.mark.browser
def test_a_wide_page_and_a_missing_picture_are_noticed(tmp_path: Path, browser: "Browser") -> None:
    (tmp_path / "index.html").write_text('<pre style="width: 500px">wide</pre><img src="gone.png">')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text('<p style="overflow: auto"><b style="padding: 500px">x</b></p>')
    found = _on_a_phone(tmp_path, browser)
    assert [wrong.split("/")[-1] for wrong in found["index.html"]] == ["gone.png is not shown", "508 pixels wide"]
    assert found["other/index.html"] == []


def _on_a_phone(site: Path, browser: "Browser") -> dict[str, list[str]]:
    """Return what is wrong with each page of a folder on a phone."""
    found = {}
    with screenshots.served(site) as root, browser.new_page(viewport=PHONE) as tab:
        tab.set_default_timeout(300_000)  # the machine may be busy
        for path in sorted(site.rglob("index.html")):
            page = str(path.relative_to(site))
            tab.goto(root + page)
            found[page] = tab.evaluate(WRONG)
    return found


def test_no_code_shows_the_escape_of_a_table(site: Path) -> None:
    for path in site.rglob("index.html"):
        assert re.findall(r"<code>[^<]*\\\|[^<]*</code>", path.read_text()) == [], path


def test_every_page_has_a_description_that_its_quotes_do_not_end(site: Path) -> None:
    for path in site.rglob("index.html"):
        (head,) = re.findall(r'<meta name="description" content="([^"<>]+)">', path.read_text())
        assert len(html.unescape(head)) > 10, path


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<a href="gone.html">x</a>', "is not there"),
        ('<a href="#gone">x</a>', "has no such anchor"),
        ('<script src="https://example.org/x.js"></script>', "fetches https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "fetches"),
    ],
)
def test_what_is_broken_is_noticed(page: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(page + '<a href="#here" id="here">y</a><a href="https://example.org">z</a>')
    (found,) = links.broken(tmp_path)
    assert said in found


def test_the_page_for_unknown_addresses_leads_somewhere(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides" / "index.html").write_text("<h1>Guides</h1>")
    page = '<script>{"base": "/abound/"}</script><a href="/abound/guides/">x</a><a href="/abound/.">y</a>'
    (tmp_path / "index.html").write_text("<h1>abound</h1>")
    (tmp_path / "404.html").write_text(page)
    assert list(links.broken(tmp_path)) == []
    (tmp_path / "404.html").write_text(page.replace("guides/", "gone/"))
    assert list(links.broken(tmp_path)) == ["404.html: /abound/gone/ is not there"]


def test_llms_txt_lists_every_page_with_a_description(site: Path) -> None:
    text = (site / "llms.txt").read_text()
    listed = dict(re.findall(r"^- \[.+?\]\(([^)\s]+)\): (.+)$", text, re.MULTILINE))
    pages = {str(path.parent.relative_to(site)) + "/" for path in site.rglob("index.html")}
    assert {address.removeprefix("./") or "./" for address in listed} == {"./" if one == "./" else one for one in pages}
    assert all(len(said) > 10 for said in listed.values())


def test_words_of_other_tools_find_the_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    texts = {entry["location"]: entry["text"] for entry in index["docs"]}
    for location, words in synonyms.SYNONYMS.items():
        assert texts[location].count(synonyms.SAID) == 1
        for word in words:
            assert word in texts[location]
    asked = ("bias", "epoch", "multilabel", "extreme classification", "active learning", "embeddings", "threshold")
    terms = texts["glossary/#terms-of-other-fields"]
    for word in asked:
        assert word in terms
        assert any(word in words for words in synonyms.SYNONYMS.values()), word


def test_a_page_that_is_gone_is_noticed_by_the_synonyms() -> None:
    with pytest.raises(LookupError, match="the search has no page"):
        synonyms.added({"docs": []})


def test_every_page_names_the_version_and_has_no_edit_link_without_an_address(site: Path) -> None:
    page = (site / "guides" / "correct" / "index.html").read_text()
    assert f"This site documents abound {__version__}." in page
    assert ("Edit this page" in page) == bool(hooks.addresses().get("repo_url"))


def test_an_address_gives_edit_links_to_sources_and_to_nothing_that_is_generated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hooks, "addresses", lambda: {"repo_url": "https://example.org/abound"})
    config = hooks.on_config(load_config(str(ROOT / "mkdocs.yml")))
    monkeypatch.setattr(hooks, "generated", lambda: {"reference/tagger.md": "# T", "contributing.md": "# C"})
    monkeypatch.setattr(hooks.File, "generated", _generated)  # mkdocs allows it only while it calls a hook
    files = hooks.on_files(Files([File("faq.md", "docs", "site", use_directory_urls=True)]), config)
    found = {file.src_uri: Page(None, file, config).edit_url for file in files}
    base = "https://example.org/abound/edit/main/"
    assert found == {
        "faq.md": f"{base}docs/faq.md",
        "reference/tagger.md": None,
        "contributing.md": f"{base}CONTRIBUTING.md",
    }


def _generated(config: Any, path: str, *, content: str) -> File:
    file = File(path, None, config.site_dir, use_directory_urls=True)
    file.generated_by, file.content_string = "hooks", content
    return file


def test_every_page_belongs_to_one_kind() -> None:
    config = load_config(str(ROOT / "mkdocs.yml"))
    kinds = [name for entry in config.nav for name in entry]
    assert kinds == ["Home", "Tutorials", "How-to guides", "Integrations", "Reference", "Explanation", "About"]
    pages = [page for entry in config.nav for page in _leaves(entry)]
    assert len(pages) == len(set(pages))


def _leaves(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [leaf for part in parts for leaf in _leaves(part)]
