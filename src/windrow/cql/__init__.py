"""CQL: text to a typed syntax tree with positions, on a SQLGlot dialect."""

from windrow.cql.parser import parse

__all__ = ["parse"]
