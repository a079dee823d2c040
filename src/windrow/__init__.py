"""Windrow: persistent CQL queries over sliding windows, embedded and on Spark.

``connect()`` is the door for Python; the ``windrow`` command runs whole scripts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from windrow.core.errors import DataError, InputError, ScriptError, StateError, WindrowError
from windrow.core.paths import is_object_url, local_path
from windrow.core.time import wall_clock
from windrow.core.warnings import WindrowWarning

if TYPE_CHECKING:
    from pathlib import Path

    from windrow.engine.connection import Connection
    from windrow.plan.strategy import Strategy
    from windrow.result_files.directory import Results

    __version__: str


def __getattr__(name: str) -> Any:
    """``__version__``, looked up when it is asked for: what looks it up takes long to load."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415

    return version("windrow")


def connect(
    spark: Any = None,
    *,
    quarantine: str | Path | None = None,
    checkpoint: str | Path | None = None,
    strategy: str | Strategy = "upa",
    overwrite: bool = False,
    schedule: str | None = None,
    max_delay: float | None = None,
) -> Connection:
    """An engine in this process, or on the given SparkSession, with the same methods.

    ``quarantine`` names a directory for rows that cannot be used; on Spark ``checkpoint`` names
    one from which a later connection can go on. ``strategy`` is how expiries are handled: ``upa``
    is the one to use, ``nt`` and ``direct`` are its rivals. ``overwrite`` lets queries write where
    the results of another run are, which are removed; otherwise that is an error.

    If processing falls behind by more than ``max_delay`` seconds, queries with SLIDE are answered
    less often, and ``Handle.lateness`` says so. Which of them run together is decided by
    ``schedule``: ``late-pending`` if not given, or ``none``, ``aggressive``, ``conservative``,
    ``hybrid``, ``late``.
    """
    for given, what in ((quarantine, "quarantine"), (checkpoint, "checkpoint")):
        if given is not None and not is_object_url(given):
            local_path(given, f"connect, {what}")
    from windrow.engine.connection import Connection  # noqa: PLC0415 - compiled kernels load here
    from windrow.engine.notebook_html import show_tables_as_html  # noqa: PLC0415
    from windrow.plan.sharing.group_schedule import ScheduleOptions  # noqa: PLC0415

    show_tables_as_html()
    scheduled = ScheduleOptions.of(schedule, max_delay)
    if spark is not None:
        if not hasattr(spark, "newSession"):
            raise InputError(
                where="connect",
                expected="a SparkSession",
                found=type(spark).__name__,
                remedy="make one with SparkSession.builder.getOrCreate(), or leave it out",
            )
        from windrow.spark.run.runtime_factory import on_session  # noqa: PLC0415

        return Connection(
            on_session(
                spark, checkpoint, quarantine, strategy, overwrite=overwrite, schedule=scheduled
            )
        )
    if checkpoint is not None:
        raise InputError(
            where="connect",
            expected="a SparkSession with checkpoint",
            found="none",
            remedy="pass spark=, or leave checkpoint out: an embedded connection has none",
        )
    from windrow.engine.embedded import Embedded  # noqa: PLC0415

    return Connection(
        Embedded(
            quarantine, strategy, wall_clock,
            overwrite=overwrite, schedule=scheduled, stopwatch=time.perf_counter,
        )
    )  # fmt: skip


def results(path: str | Path) -> Results:
    """The results that a query has written into a directory, as Arrow.

    ``changes()`` and ``answer()`` are tables; the object itself is an Arrow stream of all changes.
    Only what is committed is read, also while a run writes there.
    """
    from windrow.engine.notebook_html import show_tables_as_html  # noqa: PLC0415 - as above
    from windrow.result_files.directory import Results  # noqa: PLC0415

    show_tables_as_html()
    return Results(path)


__all__ = [
    "DataError",
    "InputError",
    "ScriptError",
    "StateError",
    "WindrowError",
    "WindrowWarning",
    "__version__",
    "connect",
    "results",
]
