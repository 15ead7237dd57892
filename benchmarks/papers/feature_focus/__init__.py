"""Reproduce the experiments of "Learning when concepts abound" (Madani, Connor, Greiner, JMLR 2009)."""
