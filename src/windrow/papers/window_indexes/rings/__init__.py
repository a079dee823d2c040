"""Ring indexes: from a value to the tuples that have it (Golab et al. 2004, 5)."""
