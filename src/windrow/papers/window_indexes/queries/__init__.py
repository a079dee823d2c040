"""Queries over indexed windows, set-valued and attribute-valued (Golab et al. 2004, 3 and 6)."""
