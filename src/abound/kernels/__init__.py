"""The compiled loops: flat arrays in, flat arrays out."""
