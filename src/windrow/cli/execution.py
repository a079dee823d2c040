"""Running the queries of a catalog from the command line: which runner, and how it stops.

The runner works in a thread of its own, so that this one is free to hear Ctrl-C: the first asks
the runner to finish the batch it is in, the second does not wait for it. (It also keeps PySpark,
which takes the signal over when started in the main thread, from cancelling jobs half-way.)

What the command line says to Spark is checked before anything is started.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from windrow.cli.console import err
from windrow.cli.display import Display
from windrow.core.errors import InputError, StateError
from windrow.core.paths import is_object_url
from windrow.core.time import wall_clock
from windrow.engine.progress import Progress, Report
from windrow.plan.catalog import Catalog
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy
from windrow.spark.run.spark_settings import (
    check_modules,
    is_cluster,
    is_submitted,
    parse_settings,
    private_checkpoint,
)

if TYPE_CHECKING:
    from windrow.cli.metrics import Metrics
    from windrow.engine.runtime import Runtime
    from windrow.spark.run.session import SessionOptions

LOCAL = "local[*]"


class RunnerName(StrEnum):
    """Where queries run."""

    SPARK = "spark"
    EMBEDDED = "embedded"


@dataclass(frozen=True)
class Settings:
    """What the command line says on how to run."""

    quarantine: Path
    runner: RunnerName = RunnerName.SPARK
    master: str | None = None
    checkpoint: Path | None = None
    once: bool = False
    verbose: bool = False
    strategy: Strategy = Strategy.UPA
    overwrite: bool = False
    conf: tuple[str, ...] = ()
    py_files: tuple[str, ...] = ()
    metrics: int | None = None
    schedule: ScheduleOptions | None = None


@dataclass(frozen=True)
class Outcome:
    """The runner's report, and whether it was stopped by Ctrl-C."""

    report: Report
    stopped: bool


def execute(catalog: Catalog, settings: Settings) -> Outcome:
    """Run every query of ``catalog`` to the end of its input, or until Ctrl-C."""
    on_spark = settings.runner is RunnerName.SPARK
    if on_spark:
        check_spark_options(settings)
    else:
        refuse_spark_options(settings)
    master = settings.master or LOCAL
    where = "as submitted" if is_submitted() else master
    activity = f"running on Spark, {where}" if on_spark else "running embedded"
    stop = threading.Event()
    with ExitStack() as stack:
        metrics = _metrics(settings, stack)
        display = stack.enter_context(Display(err(), activity, batches=settings.verbose))
        stack.enter_context(_heard(stop, display))
        work = _Work(lambda: _run(catalog, settings, master, display, stop, metrics))
        work.start()
        while work.is_alive():
            work.join(0.2)
    return Outcome(work.result(), stop.is_set())


def _metrics(settings: Settings, stack: ExitStack) -> Metrics | None:
    """Served from now on, if they are asked for."""
    if settings.metrics is None:
        return None
    from windrow.cli.metrics import serve_metrics  # noqa: PLC0415

    return stack.enter_context(serve_metrics(settings.metrics, err().print))


def _run(
    catalog: Catalog,
    settings: Settings,
    master: str,
    display: Display,
    stop: threading.Event,
    metrics: Metrics | None,
) -> Report:
    # Imported late: `windrow explain` needs none of it. The first import on a machine compiles the
    # kernels, for some seconds; done here, Spark's workers find them compiled.
    from windrow.engine.runner import run  # noqa: PLC0415

    runtime = _runtime(catalog, settings, master, display, stop, metrics)

    def show(progress: Progress) -> None:
        display.show(progress)
        if metrics is not None:
            metrics.show(progress)

    return run(
        catalog, runtime,
        once=settings.once, on_progress=show, on_failure=display.remark, stop=stop,
    )  # fmt: skip


def _runtime(
    catalog: Catalog,
    settings: Settings,
    master: str,
    display: Display,
    stop: threading.Event,
    metrics: Metrics | None,
) -> Runtime:
    if settings.runner is RunnerName.EMBEDDED:
        from windrow.engine.embedded import Embedded  # noqa: PLC0415

        if settings.checkpoint is not None:
            raise StateError(
                "the embedded runner keeps no checkpoint",
                where="--checkpoint",
                remedy="run on Spark (--runner spark), or without --checkpoint",
            )
        return Embedded(
            settings.quarantine, settings.strategy, wall_clock,
            overwrite=settings.overwrite, keep=False, watch=not settings.once,
            schedule=settings.schedule, stopwatch=time.perf_counter,
        )  # fmt: skip
    from windrow.spark.run.runtime_factory import over_files  # noqa: PLC0415

    on_spark = over_files(
        master, settings.checkpoint, settings.quarantine, settings.strategy,
        once=settings.once, overwrite=settings.overwrite, verbose=settings.verbose,
        on_restart=display.remark, stop=stop,
        options=session_options(settings, catalog, display.remark), schedule=settings.schedule,
    )  # fmt: skip
    if metrics is not None:
        metrics.follow(on_spark.directory)
    return on_spark


class _Work(threading.Thread):
    """A call in a thread that keeps what came of it; a daemon, so that leaving never hangs."""

    def __init__(self, call: Callable[[], Report]) -> None:
        super().__init__(name="windrow-runner", daemon=True)
        self._call = call
        self._report: Report | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._report = self._call()
        except BaseException as error:
            self._error = error

    def result(self) -> Report:
        if self._error is not None:
            raise self._error
        assert self._report is not None
        return self._report


@contextmanager
def _heard(stop: threading.Event, display: Display) -> Iterator[None]:
    """Ctrl-C and SIGTERM set ``stop``; a second one raises KeyboardInterrupt."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        display.note("stopping after this batch; Ctrl-C again to stop at once")

    before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_spark_options(settings: Settings) -> None:
    """InputError for what Spark could not do; nothing of Spark is loaded."""
    parse_settings(settings.conf)
    check_modules(settings.py_files)
    master = settings.master
    if master and is_submitted():
        raise InputError(
            where="--master",
            expected="none: spark-submit has started this process",
            found=master,
            remedy="give --master to spark-submit",
        )
    if master and is_cluster(master) and settings.checkpoint is None:
        raise private_checkpoint(master)


def refuse_spark_options(settings: Settings) -> None:
    """InputError if there are any: the embedded runner has no Spark."""
    given = {
        "--master": settings.master,
        "--conf": settings.conf,
        "--py-files": settings.py_files,
    }
    for name in (name for name, value in given.items() if value):
        raise InputError(
            where=name,
            expected="--runner spark",
            found=f"--runner {settings.runner}",
            remedy=f"leave {name} out, or run on Spark",
        )


def session_options(
    settings: Settings, catalog: Catalog, on_work: Callable[[str], None]
) -> SessionOptions:
    """For the session that the run opens."""
    from windrow.spark.run.session import SessionOptions  # noqa: PLC0415 - starts pyspark
    from windrow.spark.run.worker_check import SharedPaths  # noqa: PLC0415

    return SessionOptions(
        parse_settings(settings.conf),
        check_modules(settings.py_files),
        SharedPaths(_sources(catalog), {**_destinations(catalog), **_own_places(settings)}),
        on_work,
    )


def _own_places(settings: Settings) -> dict[str, Path]:
    given = {"--checkpoint": settings.checkpoint, "--quarantine": settings.quarantine}
    return {n: path for n, path in given.items() if path is not None and not is_object_url(path)}


def _sources(catalog: Catalog) -> dict[str, Path]:
    sources = {name: getattr(d, "source", None) for name, d in catalog.declarations.items()}
    return {name: Path(s.path) for name, s in sources.items() if s is not None}


def _destinations(catalog: Catalog) -> dict[str, Path]:
    places = {name: getattr(d, "into", None) for name, d in catalog.declarations.items()}
    paths = {name: i.path for name, i in places.items() if i is not None and i.path}
    return {name: Path(path) for name, path in paths.items() if not is_object_url(path)}
