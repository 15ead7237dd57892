"""List the mutants of the source files under test, and draw a sample of them."""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Which tests are run for the files of a folder.
GROUPS = {
    "rankers": ("tests/rankers", "tests/test_training.py", "tests/test_merging.py"),
    "metrics": ("tests/metrics",),
    "store": ("tests/store",),
    "server/writer.py": tuple(
        f"tests/server/test_{name}.py"
        for name in ("writer", "unapplied", "undo", "sharing", "history", "served", "vocabulary")
    ),
}
# Annotations use |, and a decorator that is removed is a name that does not exist: nobody makes such mistakes.
LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr", "core/RemoveDecorator", "core/Variable")


@dataclass(frozen=True)
class Mutant:
    """One change: an operator of cosmic-ray, and at which of its places in a file it is applied."""

    path: str
    operator: str
    occurrence: int
    line: int


def files() -> Iterator[tuple[str, str]]:
    """Yield (group, path) of the files under test."""
    for group in GROUPS:
        place = ROOT / "src" / "abound" / group
        for path in [place] if place.suffix else sorted(place.rglob("*.py")):
            yield group, str(path.relative_to(ROOT))


def operators(path: str) -> Iterator[Mutant]:
    """Yield the mutants of a file, in the order of the operators."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast_from_path

    tree, quiet = get_ast_from_path(ROOT / path), quiet_lines((ROOT / path).read_text())
    for name in sorted(plugins.operator_names()):
        if name.startswith(LEFT_OUT):
            continue
        operator, occurrence = plugins.get_operator(name)(), 0
        for node in ast_nodes(tree):
            for (line, _), _ in operator.mutation_positions(node):
                if line not in quiet:
                    yield Mutant(path, name, occurrence, line)
                occurrence += 1


def quiet_lines(text: str) -> set[int]:
    """Return the lines of imports, docstrings and annotated fields without a value: they do nothing to be tested."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_field = isinstance(node, ast.AnnAssign) and node.value is None
        if is_text or is_field or isinstance(node, ast.Import | ast.ImportFrom):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def sample(n: int, seed: int) -> list[Mutant]:
    """Return `n` mutants of all files; every line with a mutant has the same chance, and then each of its mutants."""
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for _, path in files():
        for mutant in operators(path):
            by_line.setdefault((mutant.path, mutant.line), []).append(mutant)
    rng = random.Random(seed)
    lines = rng.sample(sorted(by_line), min(n, len(by_line)))
    return [rng.choice(by_line[line]) for line in lines]
