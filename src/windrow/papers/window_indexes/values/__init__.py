"""Set-valued indexes: values and how often a window holds them (Golab et al. 2004, 4)."""
