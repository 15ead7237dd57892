"""The peers, side by side: each system in its own process and virtual environment, on the same rows."""
