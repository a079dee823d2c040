"""How a basic window stores its tuples: LIST, AGGR, HASH and GROUP (Golab et al. 2004, 2.2)."""
