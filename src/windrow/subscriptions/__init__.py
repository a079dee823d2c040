"""Range predicates indexed: which subscriptions does a row satisfy (Wu, Chen, Yu 2004).

>>> import pyarrow as pa
>>> from windrow.subscriptions import OneOf, Range, Subscription, Subscriptions
>>> prices = Subscriptions({"price": pa.float64(), "symbol": pa.string()})
>>> ann = Subscription.of("ann", {"price": Range(10, 20, high_open=True)})
>>> bob = Subscription.of("bob", {"symbol": OneOf(("AX", "BY"))}, {"price": "> 100"})
>>> prices.add([ann, bob])
3
>>> prices.match(pa.table({"symbol": ["AX", "CZ"], "price": [15.0, 250.0]})).to_pylist()
[{'row': 0, 'subscription': 'ann'}, {'row': 0, 'subscription': 'bob'},
 {'row': 1, 'subscription': 'bob'}]

Names are loaded when they are asked for: the indexes are compiled kernels, and not everyone who
imports a module of this room needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from windrow.subscriptions.indexes.gridded_intervals import GriddedIntervals
    from windrow.subscriptions.predicates import OneOf, Range, Subscription
    from windrow.subscriptions.subscriptions import Subscriptions
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "GriddedIntervals": "windrow.subscriptions.indexes.gridded_intervals",
            "OneOf": "windrow.subscriptions.predicates",
            "Range": "windrow.subscriptions.predicates",
            "Subscription": "windrow.subscriptions.predicates",
            "Subscriptions": "windrow.subscriptions.subscriptions",
        },
    )

__all__ = ["GriddedIntervals", "OneOf", "Range", "Subscription", "Subscriptions"]
