"""Check an installed package quickly: a ranker, a tagger, its command line, the solver, and the page's files."""

import importlib.resources
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import numpy as np

import abound

COMMAND = Path(sysconfig.get_path("scripts")) / "abound"
RECORDS = '{"text": "a red apple", "labels": ["fruit"]}\n{"text": "a fast car", "labels": ["vehicle"]}\n'


def command(*arguments: str) -> str:
    return subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    if not Path(abound.__file__).is_relative_to(sys.prefix):
        raise SystemExit(f"{abound.__file__} is not the installed package")
    assert abound.FeatureFocus().fit([[1, 0], [0, 1]], ["a", "b"]).predict([[0, 1]])[0] == "b"
    ranked = abound.SVMMap().fit(np.eye(4), [1, 0, 1, 0], [0, 0, 1, 1]).decision_function(np.eye(4))
    assert ranked[0] > ranked[1]
    Path("docs.jsonl").write_text(RECORDS)
    command("fit", "docs.jsonl", "--model", "model")
    command("learn", "model", "--text", "a slow train", "--label", "railway")
    assert "railway" in command("rank", "model", "a train")
    assert abound.load("model").rank("an apple")[0].label == "fruit"
    assert (importlib.resources.files("abound") / "server" / "page" / "index.html").is_file()
    about = command("--version")
    if "not checked, no sanitizers" not in about:
        raise SystemExit(f"these kernels are not built for a release: {about}")
    print(about, end="")
    packages = ("numpy", "scipy", "scikit-learn", "joblib", "typer", "daqp")
    print(f"python {sys.version.split()[0]}, " + ", ".join(f"{name} {version(name)}" for name in packages))


if __name__ == "__main__":
    main()
