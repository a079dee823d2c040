"""Scripts run over files, as ``windrow run`` does it, without a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from windrow.core.time import Stopwatch, Wall, no_wall_clock, wall_clock
from windrow.engine.embedded import Embedded
from windrow.engine.progress import Progress, Report
from windrow.engine.runner import run
from windrow.plan.catalog import Catalog
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy


def ignore(_: Progress) -> None:
    """Progress that nobody looks at."""


def run_embedded(
    catalog: Catalog,
    quarantine: Path | None = None,
    *,
    once: bool = True,
    on_progress: Callable[[Progress], None] = ignore,
    stop: threading.Event | None = None,
    strategy: Strategy = Strategy.UPA,
    wall: Wall = no_wall_clock,
    overwrite: bool = False,
) -> Report:
    runtime = Embedded(quarantine, strategy, wall, overwrite=overwrite, keep=False, watch=not once)
    return run(catalog, runtime, once=once, on_progress=on_progress, stop=stop)


def run_on_spark(
    catalog: Catalog,
    checkpoint: Path | None,
    quarantine: Path | None = None,
    *,
    once: bool = True,
    on_progress: Callable[[Progress], None] = ignore,
    stop: threading.Event | None = None,
    strategy: Strategy = Strategy.UPA,
    wall: Wall = wall_clock,
    overwrite: bool = False,
    master: str = "local[2]",
    files_per_trigger: int | None = None,
    on_restart: Callable[[str], None] = lambda _: None,
    schedule: ScheduleOptions | None = None,
    stopwatch: Stopwatch = time.perf_counter,
) -> Report:
    from windrow.spark.run.runtime_factory import over_files  # noqa: PLC0415 - Spark is not for all tests

    stop = stop or threading.Event()
    runtime = over_files(
        master, checkpoint, quarantine, strategy,
        once=once, overwrite=overwrite, wall=wall, files_per_trigger=files_per_trigger,
        on_restart=on_restart, stop=stop, schedule=schedule, stopwatch=stopwatch,
    )  # fmt: skip
    return run(catalog, runtime, once=once, on_progress=on_progress, stop=stop)
