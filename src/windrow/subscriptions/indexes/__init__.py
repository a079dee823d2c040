"""Indexes of intervals: which of many ranges contain a value.

``GriddedIntervals`` is the one to use: containment-encoded intervals over any keys.
``ContainmentEncoded`` is the paper's index over a range that is known (Wu, Chen, Yu 2004); the
others are its rivals there, kept as its witnesses in the tests and in the benchmarks.
"""

from windrow.subscriptions.indexes.base import IntervalIndex
from windrow.subscriptions.indexes.containment import ContainmentEncoded, cei
from windrow.subscriptions.indexes.gridded import GriddedIntervals
from windrow.subscriptions.indexes.logarithmic import LogarithmicConstructs
from windrow.subscriptions.indexes.simple import SimpleConstructs
from windrow.subscriptions.indexes.skiplist import IntervalSkipList
from windrow.subscriptions.indexes.unit import UnitIntervals

__all__ = [
    "ContainmentEncoded",
    "GriddedIntervals",
    "IntervalIndex",
    "IntervalSkipList",
    "LogarithmicConstructs",
    "SimpleConstructs",
    "UnitIntervals",
    "cei",
]
