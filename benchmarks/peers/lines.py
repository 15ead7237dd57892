"""Count the lines of code that a user needs for a system: those of its script that convert rows, train and rank.

Counted are the lines in the bodies of the methods that prepare, train and rank, with the functions that they call, and
the imports of the peer itself. The harness, saving, ranking of one row at a time and the version are not counted.
"""

import ast
from pathlib import Path

LEFT_OUT = {"version", "save", "rank_one", "more_figures", "__init__"}
SHARED = {"harness", "processes"}


def lines_written(script: Path) -> int:
    """Count the lines of a system's script and of the scripts in the same folder that it imports."""
    tree, source = ast.parse(script.read_text()), script.read_text().splitlines()
    code: set[int] = set()
    total = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in LEFT_OUT:
            body = node.body[1:] if ast.get_docstring(node) else node.body
            code.update(number for part in body for number in range(part.lineno, (part.end_lineno or part.lineno) + 1))
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            beside = [name for name in names if (script.parent / f"{name}.py").exists()]
            total += sum(lines_written(script.parent / f"{name}.py") for name in beside if name not in SHARED)
            if not beside:
                code.add(node.lineno)
    lines = (source[number - 1].strip() for number in code)
    return total + sum(1 for line in lines if line and not line.startswith(("#", "raise NotImplementedError")))
