"""Each paper's tables and figures again, one command a paper."""
