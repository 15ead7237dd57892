"""The experiments of Crammer and Singer, "Pranking with ranking", NIPS 2001."""
