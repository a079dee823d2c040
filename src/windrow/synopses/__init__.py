"""Synopses: what a sub-window is summarised to, so that windows need not keep their tuples.

A window that slides by s is a circular array of sub-windows. A *buffer* pre-aggregates the newest
one; a *synopsis* keeps values over intervals of sub-windows, and answers every window of n * s,
n <= b (Golab 2006, 2.3.4). ``content_for`` says what is kept for an aggregate, and
``suitable_synopses`` in which synopsis:

>>> import numpy as np
>>> from windrow.synopses import IntervalSynopsis, TimeBuffer, content_for
>>> most = content_for("MAX")
>>> buffer, synopsis = TimeBuffer(most, s=60), IntervalSynopsis(most, s=60, b=8)
>>> synopsis.follow(buffer.feed(np.array([40, 7, 9]), ts=np.array([5, 70, 130])))
>>> synopsis.follow(buffer.advance(180))
>>> [synopsis.answer("MAX", n)["value"].to_pylist() for n in (1, 2, 3)]
[[9], [9], [40]]

Join results expire in another order than they come; their synopses are by expiry (8.3.2). FREQUENT
finds the frequent items of a window from a short list per sub-window (chapter 6).

Everything here is hosted: state is saved as Arrow batches (``save``, ``load``), and no clock is
read. Modules are loaded when a name of theirs is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from windrow.synopses.base import Synopsis, Work
    from windrow.synopses.basic_interval_synopsis import BasicIntervalSynopsis
    from windrow.synopses.errors import (
        FrequentInputError,
        IncompleteWindowError,
        SynopsisError,
        UnsuitableSynopsisError,
    )
    from windrow.synopses.estimates import Estimate
    from windrow.synopses.frequent_items import Frequent, FrequentItems
    from windrow.synopses.interval_content import AggregateClass, ClosedInterval, Content
    from windrow.synopses.interval_synopsis import IntervalSynopsis
    from windrow.synopses.interval_values import Counts, Extremes, Sums
    from windrow.synopses.join_synopsis import JoinSynopsis
    from windrow.synopses.running_synopsis import RunningSynopsis
    from windrow.synopses.sketches import DistinctSketches, FrequentSketches, QuantileSketches
    from windrow.synopses.synopsis_buffers import (
        Cell,
        ClosedJoin,
        JoinBuffer,
        RowBuffer,
        TimeBuffer,
    )
    from windrow.synopses.synopsis_factory import (
        aggregate_class,
        average,
        content_for,
        suitable_synopses,
    )
    from windrow.synopses.value_counters import Counters
else:
    _MODULES = {
        "base": "Synopsis Work",
        "basic_interval_synopsis": "BasicIntervalSynopsis",
        "errors": "FrequentInputError IncompleteWindowError SynopsisError UnsuitableSynopsisError",
        "estimates": "Estimate",
        "frequent_items": "Frequent FrequentItems",
        "interval_content": "AggregateClass ClosedInterval Content",
        "interval_synopsis": "IntervalSynopsis",
        "interval_values": "Counts Extremes Sums",
        "join_synopsis": "JoinSynopsis",
        "running_synopsis": "RunningSynopsis",
        "sketches": "DistinctSketches FrequentSketches QuantileSketches",
        "synopsis_buffers": "Cell ClosedJoin JoinBuffer RowBuffer TimeBuffer",
        "synopsis_factory": "aggregate_class average content_for suitable_synopses",
        "value_counters": "Counters",
    }
    __getattr__ = lazy_exports(
        __name__,
        {
            name: f"windrow.synopses.{module}"
            for module, names in _MODULES.items()
            for name in names.split()
        },
    )

__all__ = [
    "AggregateClass",
    "BasicIntervalSynopsis",
    "Cell",
    "ClosedInterval",
    "ClosedJoin",
    "Content",
    "Counters",
    "Counts",
    "DistinctSketches",
    "Estimate",
    "Extremes",
    "Frequent",
    "FrequentInputError",
    "FrequentItems",
    "FrequentSketches",
    "IncompleteWindowError",
    "IntervalSynopsis",
    "JoinBuffer",
    "JoinSynopsis",
    "QuantileSketches",
    "RowBuffer",
    "RunningSynopsis",
    "Sums",
    "Synopsis",
    "SynopsisError",
    "TimeBuffer",
    "UnsuitableSynopsisError",
    "Work",
    "aggregate_class",
    "average",
    "content_for",
    "suitable_synopses",
]
