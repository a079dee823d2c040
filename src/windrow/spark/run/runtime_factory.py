"""Runtimes on Spark for a connection and for a script, with the session that each is on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from windrow.core.time import Stopwatch, Wall, wall_clock
from windrow.object_store.object_path import ObjectPath, path_of
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy
from windrow.spark.run.session import (
    PLAIN,
    SessionOptions,
    check_session,
    configure,
    open_session,
)
from windrow.spark.run.spark_job import Feed
from windrow.spark.run.spark_runtime import OnSpark
from windrow.streams.quarantine import Quarantine


def on_session(
    spark: SparkSession,
    checkpoint: str | Path | None = None,
    quarantine: str | Path | None = None,
    strategy: str | Strategy = Strategy.UPA,
    wall: Wall = wall_clock,
    *,
    overwrite: bool = False,
    schedule: ScheduleOptions | None = None,
) -> OnSpark:
    """For a connection on somebody's session."""
    feed = Feed(
        live=True, quarantine=_quarantine(quarantine), overwrite=overwrite, wall=wall,
        schedule=schedule,
    )  # fmt: skip
    check_session(spark, checkpoint, quarantine)
    session = configure(spark)
    return OnSpark(lambda: session, checkpoint, strategy, feed, given_session=spark)


def over_files(
    master: str,
    checkpoint: Path | None,
    quarantine: Path | None,
    strategy: Strategy = Strategy.UPA,
    *,
    once: bool,
    overwrite: bool = False,
    verbose: bool = False,
    files_per_trigger: int | None = None,
    wall: Wall = wall_clock,
    on_restart: Callable[[str], None] = lambda _: None,
    stop: threading.Event | None = None,
    options: SessionOptions = PLAIN,
    schedule: ScheduleOptions | None = None,
    stopwatch: Stopwatch = time.perf_counter,
) -> OnSpark:
    """For a script over files, on a session of its own if there is none by now.

    ``on_restart`` is told when a query is started again because a process of Spark's died under it;
    the virtual machine's own death ends the run with a MachineError.
    """
    feed = Feed(
        once=once, files=files_per_trigger, quarantine=_quarantine(quarantine),
        overwrite=overwrite, wall=wall, schedule=schedule, stopwatch=stopwatch,
    )  # fmt: skip
    own = OwnSession(master, options, verbose=verbose)
    return OnSpark(own.open, checkpoint, strategy, feed, on_restart, stop, own.close)


def _quarantine(directory: str | Path | None) -> Quarantine | None:
    """Where rows that cannot be used go, also from processes that work elsewhere."""
    if directory is None:
        return None
    place = path_of(directory)
    return Quarantine(place if isinstance(place, ObjectPath) else place.absolute())


class OwnSession:
    """A session that ends with whoever opened it, unless it was there before."""

    def __init__(self, master: str, options: SessionOptions, *, verbose: bool) -> None:
        self._master, self._options, self._verbose = master, options, verbose
        self._session: SparkSession | None = None

    def open(self) -> SparkSession:
        there = SparkContext._active_spark_context is not None  # noqa: SLF001
        session = open_session(self._master, options=self._options, verbose=self._verbose)
        self._session = None if there else session
        return session

    def close(self) -> None:
        if self._session is not None:
            with suppress(Exception):  # of a virtual machine that is dead there is nothing to stop
                self._session.stop()
