"""Test that every command, option, public name and setting is in the reference."""

import importlib
import inspect
import re
from typing import Any

import pytest

import abound
from docs_build import api, commands, names


@pytest.fixture(scope="module")
def command_page() -> str:
    return commands.page()


@pytest.fixture(scope="module")
def api_pages() -> dict[str, str]:
    return api.pages()


def walk(command: Any, path: str = "abound") -> Any:
    """Walk typer's commands independently of the tested code."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, f"{path} {name}")


def test_every_command_and_option_is_described(command_page: str) -> None:
    sections = {s.partition("\n")[0]: s for s in command_page.replace("\n### ", "\n## ").split("\n## ")[1:]}
    for path, command in walk(commands.tree()):
        for parameter in command.params:
            is_hidden = getattr(parameter, "hidden", False)  # it only says why it cannot be used
            if is_hidden or parameter.name in ("help", "install_completion", "show_completion"):
                continue
            words = parameter.opts + parameter.secondary_opts if parameter.param_type_name == "option" else []
            for word in words:
                assert f"`{word}`" in sections[path], f"{word} of {path} is missing"
            assert parameter.help, f"{parameter.name} of {path} has no help"


def test_every_public_name_is_described(api_pages: dict[str, str]) -> None:
    text = "\n".join(api_pages.values())
    for name in abound.__all__:
        assert f"\n## abound.{name}\n" in text
    for part in ("abound.data", "abound.metrics", "abound.rankers", "abound.retrieval", "abound.server", "abound.text"):
        for name in importlib.import_module(part).__all__:
            assert re.search(rf"^## abound\.(\w+\.)*{name}$", text, re.MULTILINE), f"{part}.{name} is missing"


def test_every_method_is_mentioned(api_pages: dict[str, str]) -> None:
    for page, name, found in names.public():
        if isinstance(found, type) and name.startswith("abound.") and name.count(".") == 1:
            section = api_pages[page].split(f"\n## {name}\n")[1].partition("\n## ")[0]
            own = [m for m, f in vars(found).items() if inspect.isfunction(f) and not m.startswith("_")]
            assert [m for m in own if m not in section] == [], name


@pytest.mark.parametrize("name", [name for name in abound.__all__ if isinstance(getattr(abound, name), type)])
def test_every_setting_is_described(name: str) -> None:
    found = getattr(abound, name)
    if issubclass(found, tuple | BaseException):
        return
    described = "\n".join(api.sections_of(found))
    for parameter in inspect.signature(found).parameters.values():
        starred = {inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        assert f"`{starred}{parameter.name}`" in described, f"{parameter.name} of {name} is not described"


def test_a_missing_name_is_noticed(monkeypatch: pytest.MonkeyPatch, api_pages: dict[str, str]) -> None:
    monkeypatch.setattr(abound, "__all__", [*abound.__all__, "Missing"])
    with pytest.raises(AssertionError):
        test_every_public_name_is_described(api_pages)
