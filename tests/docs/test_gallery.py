"""The gallery shows every plot, with commands that exist."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
GALLERY = (ROOT / "docs" / "gallery.md").read_text()
NOT_PLOTS = ("page", "integration-", "label-studio", "101-terminal")  # screenshots and recordings


def test_every_plot_of_the_project_is_shown() -> None:
    shown = set(re.findall(r"\]\(images/([^)#]+)", GALLERY))
    plots = {path.name for path in IMAGES.iterdir() if not path.name.startswith(NOT_PLOTS)}
    assert plots == shown


def test_every_command_is_a_module() -> None:
    modules = re.findall(r"`python -m ([\w.]+)", GALLERY)
    assert len(modules) > 8
    for name in modules:
        assert importlib.util.find_spec(name) is not None, name
