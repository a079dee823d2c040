"""Indexes of intervals that the containment-encoded ones were compared with (Wu, Chen, Yu 2004)."""

from windrow.papers.interval_indexes.logarithmic import LogarithmicConstructs
from windrow.papers.interval_indexes.simple import SimpleConstructs

__all__ = ["LogarithmicConstructs", "SimpleConstructs"]
