"""The experiments of "Learning when concepts abound" (Madani, Connor, Greiner, JMLR 2009) again, one idea a file."""
