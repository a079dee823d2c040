"""Indexes of intervals: which of many ranges contain a value.

``GriddedIntervals`` is the one to use: containment-encoded intervals over any keys.
``ContainmentEncoded`` is the paper's index over a range that is known (Wu, Chen, Yu 2004), and
``UnitIntervals`` the one for values of which each has a list of its own; what lies outside of their
range is in an ``IntervalSkipList``. Two more rivals are in ``windrow.papers.interval_indexes``.
"""

from windrow.subscriptions.indexes.constructs import UnitIntervals
from windrow.subscriptions.indexes.containment_encoded import ContainmentEncoded, cei
from windrow.subscriptions.indexes.gridded_intervals import GriddedIntervals
from windrow.subscriptions.indexes.interval_index import IntervalIndex
from windrow.subscriptions.indexes.skiplist import IntervalSkipList

__all__ = [
    "ContainmentEncoded",
    "GriddedIntervals",
    "IntervalIndex",
    "IntervalSkipList",
    "UnitIntervals",
    "cei",
]
