"""Compare abound with its peers: each system in a separate process and virtual environment, on the same rows."""
