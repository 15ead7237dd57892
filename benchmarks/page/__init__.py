"""Measure and picture the server's page in a real browser."""
