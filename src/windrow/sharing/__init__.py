"""Many queries over the same windows: who shares what, when each runs, and what it may see.

``rules`` say which periodic queries share state and work, ``schedule`` when they run (Golab 2006,
chapter 8); both are pure, and planning uses them. ``transactions`` are what a query may see while
its window moves (chapter 7). Names are loaded when they are asked for:

>>> from windrow.sharing import classify, parse_history
>>> print(classify(parse_history("r[0] w2[0] c2 r[1] c", n=2)))
conflict-serialisable, WS
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from windrow.core.patterns import UpdatePattern
    from windrow.sharing.rules.dnf import Atom, any_of
    from windrow.sharing.rules.periodic_query import Aggregate, Function, PeriodicQuery
    from windrow.sharing.rules.plan_changes import add_query, drop_query, plan_queries
    from windrow.sharing.rules.sharing_plan import describe_plan
    from windrow.sharing.rules.value_sets import Attribute, Order
    from windrow.sharing.schedule import POLICIES, LocalScheduler, sub_groups
    from windrow.sharing.transactions.executor import Answer, Executor
    from windrow.sharing.transactions.history import History, TransactionError, parse_history
    from windrow.sharing.transactions.isolation import Isolation, classify
    from windrow.sharing.transactions.latest_window import LatestWindow
    from windrow.sharing.transactions.scheduler import ReadTransaction
    from windrow.sharing.transactions.serial import Serial
    from windrow.sharing.transactions.stored_windows import split_by_expiry, stored_window
    from windrow.sharing.transactions.time_to_update import TimeToUpdate, UndoExpired
    from windrow.sharing.transactions.window_serial import WindowSerial
else:
    _MODULES = {
        "core.patterns": "UpdatePattern",
        "sharing.rules": (
            "Aggregate Atom Attribute Function Order PeriodicQuery "
            "add_query any_of describe_plan drop_query plan_queries"
        ),
        "sharing.schedule": "POLICIES LocalScheduler sub_groups",
        "sharing.transactions.executor": "Answer Executor",
        "sharing.transactions.history": "History TransactionError parse_history",
        "sharing.transactions.isolation": "Isolation classify",
        "sharing.transactions.latest_window": "LatestWindow",
        "sharing.transactions.scheduler": "ReadTransaction",
        "sharing.transactions.serial": "Serial",
        "sharing.transactions.stored_windows": "split_by_expiry stored_window",
        "sharing.transactions.time_to_update": "TimeToUpdate UndoExpired",
        "sharing.transactions.window_serial": "WindowSerial",
    }
    __getattr__ = lazy_exports(
        __name__,
        {name: f"windrow.{module}" for module, names in _MODULES.items() for name in names.split()},
    )

__all__ = [
    "POLICIES",
    "Aggregate",
    "Answer",
    "Atom",
    "Attribute",
    "Executor",
    "Function",
    "History",
    "Isolation",
    "LatestWindow",
    "LocalScheduler",
    "Order",
    "PeriodicQuery",
    "ReadTransaction",
    "Serial",
    "TimeToUpdate",
    "TransactionError",
    "UndoExpired",
    "UpdatePattern",
    "WindowSerial",
    "add_query",
    "any_of",
    "classify",
    "describe_plan",
    "drop_query",
    "parse_history",
    "plan_queries",
    "split_by_expiry",
    "stored_window",
    "sub_groups",
]
