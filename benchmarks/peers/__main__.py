"""Compare systems on every data set.

python -m benchmarks.peers run                                   run every cell that is not in the store yet
python -m benchmarks.peers run --set finna-100k --peers omikuji --again
python -m benchmarks.peers assemble                              write the store to benchmarks/results/peers.json
python -m benchmarks.peers show --set finna-100k                 print tables of that file
python -m benchmarks.peers pages                                 write docs/peers.md and docs/images/peers-*.png from it
"""

import argparse
import sys
from pathlib import Path

from benchmarks import sets
from benchmarks.peers import assembly, cells, tables
from benchmarks.peers.registry import PEERS, SETS


def run(set_names: list[str], peers: list[str], rounds: int, again: bool) -> None:
    """Run the missing cells in turn, so that a busy period of the machine affects all systems alike."""
    for name in set_names:
        data = sets.load(name)
        print(data.describe(), file=sys.stderr)
        for turn in range(rounds):
            for peer in (peer for peer in peers if not PEERS[peer].only or name in PEERS[peer].only):
                cell, fresh = cells.run(data, peer, again=again or turn > 0)
                done = cell.get("failed") or f"trained in {cell['train_seconds']:.2f} s"
                print(f"{name}, {peer}: {done}{'' if fresh else ' (known)'}", file=sys.stderr, flush=True)


def names(text: str | None, known: tuple[str, ...], what: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return comma-separated names, or all."""
    found = text.split(",") if text else list(known)
    for name in found:
        if name not in known:
            parser.error(f"unknown {what} {name!r}; known are {', '.join(known)}")
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "assemble", "show", "pages"])
    parser.add_argument("--set", help="comma-separated data sets (default: all of the table)")
    parser.add_argument("--peers", help="comma-separated systems (default: all)")
    parser.add_argument("--rounds", type=int, default=1, help="number of runs of each system, in turn")
    parser.add_argument("--again", action="store_true", help="also run cells that are in the store")
    parser.add_argument("--json", type=Path, default=assembly.RESULT, help="the result file")
    arguments = parser.parse_args(argv)
    known_sets = tuple(dict.fromkeys([*SETS, *sorted(sets.RECIPES)]))
    set_names = names(arguments.set, known_sets, "set", parser) if arguments.set else list(SETS)
    peers = names(arguments.peers, tuple(PEERS), "peer", parser)
    if arguments.command == "run":
        run(set_names, peers, arguments.rounds, arguments.again)
    elif arguments.command == "assemble":
        assembly.write(assembly.assemble(set_names), arguments.json)
    elif arguments.command == "show":
        tables.show(assembly.read(arguments.json), set_names, peers)
    else:
        from benchmarks.peers import pictures

        result = assembly.read(arguments.json)
        tables.write_page(result)
        pictures.draw(result)


if __name__ == "__main__":
    main()
