"""The version is written in one place, the addresses in one place, and a build of the kernels says what it is."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from abound.kernels import BOUNDS_CHECKED
from abound.version import kernel_build

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "src" / "abound" / "kernels"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _record_build() -> ModuleType:
    """Return the module that Meson runs; it is not installed with the package."""
    spec = importlib.util.spec_from_file_location("record_build", KERNELS / "record_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


digest, record = _record_build().digest, _record_build().record


def test_meson_takes_the_version_from_pyproject():
    options = re.search(r"^project\((.*?)^\)", (ROOT / "meson.build").read_text(), re.MULTILINE | re.DOTALL)[1]
    assert "version:" not in options.replace("meson_version:", "")


def test_the_build_of_the_kernels_is_one_line(monkeypatch: pytest.MonkeyPatch):
    bounds = "array bounds checked" if BOUNDS_CHECKED else "array bounds not checked"
    built = ModuleType("abound.kernels.build_record")
    built.COMPILER, built.SANITIZERS, built.SOURCES = "gcc 12.2.0", "", "0123456789ab"
    monkeypatch.setitem(sys.modules, built.__name__, built)
    assert kernel_build() == f"kernels 0123456789ab: gcc 12.2.0, {bounds}, no sanitizers"
    built.SANITIZERS = "address,undefined"
    assert kernel_build() == f"kernels 0123456789ab: gcc 12.2.0, {bounds}, sanitizers address,undefined"
    monkeypatch.setitem(sys.modules, built.__name__, None)
    assert kernel_build() == f"kernels: {bounds}, built without a record of the build"


def test_a_record_has_the_compiler_and_a_digest_of_the_sources(tmp_path: Path):
    first, second = tmp_path / "a.pyx", tmp_path / "b.pyx"
    first.write_bytes(b"x = 1\n")
    second.write_bytes(b"y = 2\n")
    found: dict[str, str] = {}
    exec(record("clang 17.0.6", "none", [first, second]), found)  # noqa: S102  our own text
    assert (found["COMPILER"], found["SANITIZERS"], found["SOURCES"]) == ("clang 17.0.6", "", digest([second, first]))
    assert re.fullmatch("[0-9a-f]{12}", found["SOURCES"])
    first.write_bytes(b"x = 1\r\n")
    assert digest([first, second]) == found["SOURCES"]
    first.write_bytes(b"x = 3\n")
    assert digest([first, second]) != found["SOURCES"]
    first.write_bytes(b"x = 1\n")
    assert digest([first.rename(tmp_path / "c.pyx"), second]) != found["SOURCES"]
    exec(record("gcc 12", "address,undefined", [second]), found)  # noqa: S102
    assert found["SANITIZERS"] == "address,undefined"


def test_meson_builds_and_records_every_kernel():
    names = re.search(r"kernel_names = \[(.*?)\]", (ROOT / "src" / "abound" / "meson.build").read_text(), re.DOTALL)[1]
    assert sorted(re.findall(r"'(\w+)'", names)) == sorted(path.stem for path in KERNELS.glob("*.pyx"))
    shared = re.search(r"kernel_sources = files\((.*?)\)", (KERNELS / "meson.build").read_text(), re.DOTALL)[1]
    assert sorted(re.findall(r"'([\w.]+)'", shared)) == sorted(path.name for path in KERNELS.glob("*.pxd"))


def test_addresses_of_the_project_are_those_of_pyproject():
    """No address is decided yet. When one is, it goes to [project.urls], and the others have to agree."""
    yaml = pytest.importorskip("yaml")
    urls = PROJECT.get("urls", {})
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited.get("repository-code"), cited.get("url")) == (urls.get("Repository"), urls.get("Documentation"))
    site = re.findall(r"^(repo_url|site_url):", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert site == []  # docs_build/hooks.py takes both from pyproject.toml


def test_the_site_has_the_addresses_of_pyproject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    hooks = pytest.importorskip("docs_build.hooks")
    assert hooks.addresses() == {
        name: PROJECT.get("urls", {})[key]
        for name, key in (("repo_url", "Repository"), ("site_url", "Documentation"))
        if key in PROJECT.get("urls", {})
    }
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[project.urls]\nRepository = "https://example.org/x"\n'
        'Documentation = "https://example.org/docs"\n'
    )
    assert hooks.addresses() == {"repo_url": "https://example.org/x", "site_url": "https://example.org/docs"}
