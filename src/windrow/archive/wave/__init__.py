"""Wave indices: a window of days in constituents (Shivakumar, Garcia-Molina 1997)."""
