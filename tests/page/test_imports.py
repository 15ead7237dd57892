"""The page's modules import each other in one direction; import-linter checks the Python modules."""

import graphlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "src" / "abound" / "server" / "page"
IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?["']\./([\w-]+\.js)["'];""", re.M)


def imports(folder: Path) -> dict[str, set[str]]:
    return {path.name: set(IMPORT.findall(path.read_text())) for path in folder.glob("*.js")}


def test_modules_do_not_import_each_other_in_a_circle():
    found = imports(PAGE)
    assert found["main.js"] > {"queue.js", "tag.js"}
    assert all((PAGE / name).exists() for names in found.values() for name in names)
    graphlib.TopologicalSorter(found).prepare()  # raises CycleError with the circle


def test_a_circle_is_noticed(tmp_path):
    (tmp_path / "queue.js").write_text('import {\n  importFile,\n} from "./tag.js";\n')
    (tmp_path / "tag.js").write_text('export { startQueue } from "./queue.js";\n')
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports(tmp_path)).prepare()
