"""Fuzzing: `python -m tests.fuzz` for a long run with atheris; the corpus is run in the ordinary tests."""
