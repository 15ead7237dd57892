"""The benchmarks: peers side by side, the papers' tables, growth."""
