"""The shared part of the scripts of abound."""

import sys
from pathlib import Path

import harness


class Ours(harness.System):
    threads = 1

    def version(self):
        from importlib.metadata import version

        return version("abound")

    def save(self, model, folder):
        model.save(folder / "saved")

    def sources(self):
        """Return the modules of abound that this process has imported, as files below src."""
        found = set()
        for name, module in sys.modules.items():
            file = getattr(module, "__file__", None)
            if name.partition(".")[0] == "abound" and file:
                ending = Path(file).suffix if Path(file).suffix == ".py" else ".pyx"
                place = name.replace(".", "/")
                found.add(f"{place}/__init__.py" if Path(file).name == "__init__.py" else place + ending)
        return sorted(found)
