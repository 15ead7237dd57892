"""Print the results of attacks, damage and fuzzing: python -m benchmarks.hardening.

The figures come from benchmarks.hostile, benchmarks.damage and tests.fuzz.
"""

from benchmarks.hardening.tables import PARTS

if __name__ == "__main__":
    for part in PARTS.values():
        print("\n".join(part()), end="\n\n")
