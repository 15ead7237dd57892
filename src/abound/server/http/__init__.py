"""HTTP over a replica: endpoints in a table, a gate before them, one process or a writer with workers."""
