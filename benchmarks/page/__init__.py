"""The server's page in a real browser: how fast it answers a key press, and how it looks."""
