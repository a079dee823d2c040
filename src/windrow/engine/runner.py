"""Runs a script's queries over its files: a connection's runtime, a loop, and a report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pyarrow as pa

from windrow.core.errors import DataError
from windrow.engine.clocks import on_clocks_of_files
from windrow.engine.progress import Progress, QueryReport, Report
from windrow.engine.runtime import Run, Runtime
from windrow.plan.catalog import Catalog
from windrow.plan.jobs import Days
from windrow.plan.nodes.relational import ranks
from windrow.result_files.change_table import sort_by_rank
from windrow.result_files.identity import CHANGE, INSTANT


def run(
    catalog: Catalog,
    runtime: Runtime,
    *,
    once: bool,
    on_progress: Callable[[Progress], None],
    on_failure: Callable[[str], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> Report:
    """Run all queries of the catalog until their files end (``once``) or ``stop`` is set.

    If one of several queries fails, ``on_failure`` hears of it at once and the others go on; the
    error is raised when they have come to their end.
    """
    stop = stop or threading.Event()
    try:
        catalog = on_clocks_of_files(catalog)
        runs = runtime.start(runtime.jobs(catalog.queries, catalog.archives, catalog), catalog)
        try:
            _work(runtime, once, stop, on_progress, on_failure)
        finally:  # what is right up to an error is right after it
            runtime.publish()
        return _report(catalog, runs, runtime)
    finally:
        runtime.close()


def _work(
    runtime: Runtime,
    once: bool,
    stop: threading.Event,
    on_progress: Callable[[Progress], None],
    on_failure: Callable[[str], None],
) -> None:
    pause: float | None = 0.0
    failure: DataError | None = None
    going = len(runtime.progress())
    while pause is not None and not stop.is_set():
        try:
            pause = runtime.work(once=once)
        except DataError as error:
            before, going = going, len(runtime.progress())
            if not 0 < going < before:  # it is not that of a query which stays behind
                raise
            failure = failure or error
            for told in (str(error), *getattr(error, "__notes__", ())):
                on_failure(f"{told}; the other queries go on")
        for progress in runtime.progress():
            on_progress(progress)
        if pause:
            stop.wait(pause)
    if failure is not None:
        raise failure


def _report(catalog: Catalog, runs: Sequence[Run], runtime: Runtime) -> Report:
    """What was done, in the order of the script; archives come last."""
    found = {
        member.name: _query_report(run, number, progress)
        for run, progress in zip(runs, runtime.progress(), strict=True)
        for number, member in run.job.members.items()
    }
    names = [*(q.name for q in catalog.queries), *(a.name for a in catalog.archives)]
    return Report(tuple(found[name] for name in names))


def _query_report(run: Run, number: int, progress: Progress) -> QueryReport:
    member = run.job.members[number]
    lateness = progress.lateness.get(member.name)
    return QueryReport(
        member.name,
        progress.rows_in,
        run.rows_out(number),
        progress.quarantined,
        progress.late,
        progress.now if lateness is None else lateness.answered,
        progress.clock,
        run.destination(number),
        _last_answer(run, number),
        run.waiting,
        bool(ranks(member.query.plan)),
        run.restarts,
        run.total(number),
        lateness,
        run.complete_for(number),
    )


def _last_answer(run: Run, number: int) -> pa.Table:
    """The relation at the end; of a stream, its last rows; of an archive nothing."""
    member = run.job.members[number]
    if isinstance(member.deliver, Days):
        return pa.table({})
    if member.is_stream:
        return run.last_rows(number).drop_columns([INSTANT, CHANGE])
    return sort_by_rank(run.live_rows(number), member.query.plan)
