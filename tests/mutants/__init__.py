"""Mutation testing: change one operator or number of the source, and see whether a test fails."""
