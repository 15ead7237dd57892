"""The experiments of Crammer and Singer, "A new family of online algorithms for category ranking", SIGIR 2002."""
