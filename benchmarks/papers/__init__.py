"""The papers' own experiments, run again."""
