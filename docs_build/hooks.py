"""Hooks of mkdocs: add generated pages, and pages from outside of docs.

The reference is generated from the commands and docstrings in every build, so it is always current. The files at the
top of the repository become pages unchanged.
"""

import html
import json
import re
import sys
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # mkdocs loads a hook by its path

from abound import __version__  # noqa: E402
from docs_build import api, commands, errors, llms, narrow, notebooks, synonyms  # noqa: E402

FROM_THE_TOP = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
SECTIONS = {"Decisions": "decisions/[0-9]*.md", "Peers": "peers/*.md"}  # of the navigation, with their pages
EDIT = "edit/main/docs/"  # below the address of the repository
IMAGE = re.compile(r'(<img [^>]*src=")((?!data:|https?:|/)[^"]+")')
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")


def generated() -> dict[str, str]:
    """Return the text of every page that is not a file in docs."""
    pages = {"reference/commands.md": commands.page(), "reference/errors.md": errors.page()}
    pages |= {f"reference/{name}.md": text for name, text in api.pages().items()}
    pages |= {target: _moved((ROOT / source).read_text()) for source, target in FROM_THE_TOP.items()}
    pages |= {f"notebooks/{path.stem}.md": notebooks.page(path) for path in notebooks.paths()}
    return pages


def _moved(text: str) -> str:
    """Return a page from the top of the repository with its links relative to docs."""
    return text.replace("](docs/", "](")


def addresses() -> dict[str, str]:
    """Return mkdocs' settings for the addresses in pyproject.toml, the one place that has them."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    return {name: urls[key] for name, key in (("repo_url", "Repository"), ("site_url", "Documentation")) if key in urls}


def on_config(config: Any) -> Any:
    """Add the project's addresses, and to the navigation every decision record and every compared data set."""
    for name, url in addresses().items():
        config[name] = url
    if config.repo_url:
        config.edit_uri = EDIT
    config.copyright = f"This site documents abound {__version__}."
    _add_pages(config.nav)
    return config


def _add_pages(entries: list[Any]) -> None:
    """Add the pages of a folder to the section of that name, after its first page, at any depth of the navigation."""
    for entry in entries:
        for name, below in entry.items() if isinstance(entry, dict) else ():
            if name in SECTIONS:
                found = sorted((ROOT / "docs").glob(SECTIONS[name]))
                entry[name] = [below[0], *(str(path.relative_to(ROOT / "docs")) for path in found)]
            elif isinstance(below, list):
                _add_pages(below)


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    sources = {target: source for source, target in FROM_THE_TOP.items()}
    for path, text in generated().items():
        file = File.generated(config, path, content=text)
        if path in sources:
            file.edit_uri = f"../{sources[path]}"  # a page from the top can be edited; other generated pages cannot
        files.append(file)
    return files


def on_page_content(content: str, /, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Describe each page by its first sentence, for its head and llms.txt, and mark what must not be broken."""
    page.meta.setdefault("description", html.escape(llms.first_sentence(content)))  # the theme does not escape it
    return narrow.marked(content)


def on_nav(nav: Any, config: Any, files: Files) -> Any:  # noqa: ARG001
    """Keep the navigation for llms.txt."""
    config.extra["navigation"] = nav
    return nav


def on_post_build(config: Any) -> None:
    """Write llms.txt, and add synonyms to the index of the search."""
    site = Path(config.site_dir)
    nav = config.extra.pop("navigation")
    text = llms.render(nav, config.site_name, config.site_description, config.site_url or "")
    (site / "llms.txt").write_text(text, encoding="utf-8")
    index = site / "search" / "search_index.json"
    index.write_text(json.dumps(synonyms.added(json.loads(index.read_text())), ensure_ascii=False), encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Convert links to files of the repository to links to their pages, or to plain text."""
    folder = PurePosixPath(page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, hash_, anchor = target.partition("#")
        found = _normal(folder / path)
        name = PurePosixPath(found).name
        if found in (f"../{source}" for source in FROM_THE_TOP) or found in FROM_THE_TOP:
            return f"[{words}]({'../' * (len(folder.parts))}{FROM_THE_TOP[name]}{hash_}{anchor})"
        if found == "../README.md":
            return f"[{words}]({'../' * (len(folder.parts))}index.md)"
        if found.startswith("../"):  # a file of the repository that is not a page
            if not (ROOT / "docs" / found).exists():
                raise PluginError(f"{page.file.src_uri} links to {target}, which is not there")
            return words if words.startswith("`") else f"`{words}`"
        return match[0]  # mkdocs reports missing pages

    up = "" if page.file.name == "index" else "../"  # a page is a folder in the site; mkdocs does not change HTML
    return IMAGE.sub(lambda match: f"{match[1]}{up}{match[2]}", LINK.sub(replace, markdown))


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
