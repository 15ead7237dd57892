"""Fail if an installed package has a licence that the project does not accept, or an unknown one.

Development tools count as well.
"""

import re
import sys
from importlib.metadata import distributions

ACCEPTED = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|Python-2\.0|ISC|MPL|Mozilla|Zlib|HPND|Unlicense|0BSD|CC0"
    r"|Public Domain|MIT-CMU|BlueOak|LGPL|LLVM|Boost|Public-Domain|PSF-2\.0|3-Clause|2-Clause|OFL)",
    re.IGNORECASE,
)
# Packages without a licence in their metadata, with the licence of their source.
KNOWN = {"atheris": "Apache-2.0"}


def licence_of(metadata) -> str:
    """Return the licence of a distribution, from any of the metadata fields that may contain it."""
    said = [metadata.get("License-Expression") or "", (metadata.get("License") or "")[:200]]
    said += [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    return " ; ".join(part.strip() for part in said if part and part != "UNKNOWN")


def main() -> int:
    found = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        found[name] = KNOWN.get(name, licence_of(distribution.metadata))
    refused = {name: licence for name, licence in found.items() if not ACCEPTED.search(licence)}
    for name, licence in sorted(refused.items()):
        print(f"{name} has the licence {licence!r}, which is not accepted here", file=sys.stderr)
    print(f"{len(found)} packages, {len(refused)} with a licence that is not accepted")
    return len(refused) > 0


if __name__ == "__main__":
    sys.exit(main())
