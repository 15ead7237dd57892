"""Fuzzing: `python -m tests.fuzz` for a long run with atheris; the ordinary tests run the corpus."""
