"""Compare systems on every data set, with equal tuning and equal runs.

python -m benchmarks.comparison run                               tune and run what is missing; can be interrupted
python -m benchmarks.comparison tune                              only tune what is missing
python -m benchmarks.comparison run --set finna-100k --systems abound,omikuji
python -m benchmarks.comparison show --set finna-100k             print the tables of the stored results
python -m benchmarks.comparison pages                             write docs/peers.md, its pages and pictures
"""

import argparse

from benchmarks.comparison import results, tables
from benchmarks.comparison.registry import SETS, SYSTEMS


def names(text: str | None, known: tuple[str, ...], what: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return comma-separated names, or all."""
    found = text.split(",") if text else list(known)
    for name in found:
        if name not in known:
            parser.error(f"unknown {what} {name!r}; known are {', '.join(known)}")
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.comparison",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["run", "tune", "show", "pages"])
    parser.add_argument("--set", help="comma-separated data sets (default: all)")
    parser.add_argument("--systems", help="comma-separated systems (default: all)")
    given = parser.parse_args(argv)
    set_names = names(given.set, SETS, "data set", parser)
    systems = names(given.systems, tuple(SYSTEMS), "system", parser)
    if given.command in ("run", "tune"):
        for name in set_names:
            results.run(name, systems, tune_only=given.command == "tune")
    elif given.command == "show":
        found = results.read_all()
        print("\n".join(line for name in set_names if name in found for line in tables.of_set(found[name], name)))
    else:
        tables.write_pages(results.read_all())


if __name__ == "__main__":
    main()
