"""Data sets for one final comparison: no setting or constant is chosen on them."""
