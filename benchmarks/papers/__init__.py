"""Papers whose experiments are run again, one module a paper."""
