"""Reproduce the tables and figures of each paper, with one command per paper."""
