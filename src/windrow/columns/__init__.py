"""Deltas over Arrow, expressions evaluated on them, and the kernels that operators are made of."""
