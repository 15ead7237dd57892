"""Run notebooks, and convert them to pages of the site.

python -m docs_build.notebooks            run all and store their output
"""

import sys
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def paths() -> list[Path]:
    """Return the notebooks."""
    return sorted(FOLDER.glob("*.ipynb"))


def run(path: Path, folder: Path) -> Any:
    """Run all cells of a notebook in a folder, and return it with its output."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day, which differ in every run
    return notebook


def printed(notebook: Any) -> list[str]:
    """Return the text output of the code cells, one string per cell."""
    return ["".join(_texts(cell)) for cell in notebook.cells if cell.cell_type == "code"]


def page(path: Path) -> str:
    """Return a notebook as Markdown, with its pictures embedded."""
    notebook = nbformat.read(path, as_version=4)
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        text = "".join(_texts(cell)).rstrip()
        if text:
            parts.append(f"```text\n{text}\n```")
        for output in cell.outputs:
            picture = output.get("data", {}).get("image/png")
            if picture:
                parts.append(f'<img alt="what the cell above draws" src="data:image/png;base64,{picture.strip()}">')
    where = f"This page is a notebook: `docs/notebooks/{path.name}` in the repository."
    return "\n\n".join([*parts, f"*{where}*"]) + "\n"


def _texts(cell: Any) -> list[str]:
    found = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            found.append(output.text)
        elif "image/png" not in output.get("data", {}):
            found.append(output.get("data", {}).get("text/plain", ""))
    return found


def main() -> None:
    """Run every notebook, or the named ones, and write them back."""
    wanted = set(sys.argv[1:])
    for path in paths():
        if not wanted or path.stem in wanted:
            nbformat.write(run(path, FOLDER), path)
            print(path.name)


if __name__ == "__main__":
    main()
