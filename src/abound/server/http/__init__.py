"""The HTTP server: a table of endpoints behind one application, in one process or in a writer with workers."""
