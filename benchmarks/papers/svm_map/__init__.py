"""Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision" (SIGIR 2007)."""
