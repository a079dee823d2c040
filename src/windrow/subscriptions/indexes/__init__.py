"""Indexes of intervals: which of many ranges contain a value.

``ContainmentEncoded`` is the one to use; the others are its rivals in the paper (Wu, Chen, Yu
2004), kept as its witnesses in the tests and in the benchmarks.
"""

from windrow.subscriptions.indexes.base import IntervalIndex
from windrow.subscriptions.indexes.containment import ContainmentEncoded, cei
from windrow.subscriptions.indexes.logarithmic import LogarithmicConstructs
from windrow.subscriptions.indexes.simple import SimpleConstructs
from windrow.subscriptions.indexes.skiplist import IntervalSkipList
from windrow.subscriptions.indexes.unit import UnitIntervals

__all__ = [
    "ContainmentEncoded",
    "IntervalIndex",
    "IntervalSkipList",
    "LogarithmicConstructs",
    "SimpleConstructs",
    "UnitIntervals",
    "cei",
]
